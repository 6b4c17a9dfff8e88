package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// NewReplyReader returns a buffered reader that is large enough for ReadValue.
func NewReplyReader(src io.Reader) *bufio.Reader { return bufio.NewReaderSize(src, MaxReplyLine) }

// ReadValue reads one RESP2 or RESP3 reply from r, which must come from NewReplyReader. It rejects streamed strings
// and aggregates, which no server sends.
//
// The error is a *ProtocolError for input that is not RESP or exceeds a bound of this package, io.EOF if the source
// ends before a reply, io.ErrUnexpectedEOF if it ends inside a reply, or any other error from the source.
func ReadValue(r *bufio.Reader) (Value, error) {
	if _, err := r.Peek(1); err != nil {
		return Value{}, err
	}
	p := parser{r: r, items: MaxReplyItems, bytes: MaxReplyBytes}
	v, err := p.value(0)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

// parser reads one reply. items and bytes are the numbers of values and of text bytes that the reply may still contain.
type parser struct {
	r            *bufio.Reader
	items, bytes int
}

// value reads a value at a nesting depth, with its attributes.
func (p *parser) value(depth int) (Value, error) {
	if p.items--; p.items < 0 {
		return Value{}, &ProtocolError{"too many values in reply"}
	}
	line, err := p.line()
	if err != nil {
		return Value{}, err
	}
	kind, text := Kind(line[0]), line[1:]
	switch kind {
	case attribute:
		return p.attributed(text, depth)
	case Array, Set, Push, Map:
		return p.aggregate(kind, text, depth)
	case Bulk, BulkError, Verbatim:
		return p.bulk(kind, text)
	default:
		return scalar(kind, text)
	}
}

// line reads a line of at least one byte and returns it without its CRLF.
func (p *parser) line() (string, error) {
	line, err := p.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", &ProtocolError{"too big line in reply"}
	case err != nil:
		return "", err
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok || text == "" || strings.Contains(text, "\r") {
		return "", &ProtocolError{"invalid line in reply"}
	}
	if p.bytes -= len(text); p.bytes < 0 {
		return "", &ProtocolError{"too big reply"}
	}
	return text, nil
}

// attributed reads n pairs of attributes, followed by the value to which they belong.
func (p *parser) attributed(text string, depth int) (Value, error) {
	attrs, err := p.aggregate(Map, text, depth)
	if err != nil {
		return Value{}, err
	}
	v, err := p.value(depth + 1) // one level deeper, to bound consecutive attributes
	if err != nil {
		return Value{}, err
	}
	if v.Attrs != nil {
		return Value{}, &ProtocolError{"attributes of attributes in reply"}
	}
	v.Attrs = attrs.Items
	return v, nil
}

// aggregate reads the items of an array, map, set or push. It allocates memory as the items arrive, not in advance for
// the announced number.
func (p *parser) aggregate(kind Kind, text string, depth int) (Value, error) {
	if depth == MaxDepth {
		return Value{}, &ProtocolError{"too deep reply"}
	}
	n, ok := parseDecimal([]byte(text), MaxReplyItems)
	switch {
	case ok && n < 0 && kind == Array:
		return Value{Kind: Null}, nil
	case !ok || n < 0:
		return Value{}, errMultibulkLength
	}
	if kind == Map {
		n *= 2
	}
	v := Value{Kind: kind}
	for range n {
		item, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}

// bulk reads text that follows its length in bytes. Memory grows as the text arrives.
func (p *parser) bulk(kind Kind, text string) (Value, error) {
	n, ok := parseDecimal([]byte(text), MaxReplyBytes)
	switch {
	case ok && n < 0 && kind == Bulk:
		return Value{Kind: Null}, nil
	case !ok || n < 0:
		return Value{}, errBulkLength
	}
	if p.bytes -= n; p.bytes < 0 {
		return Value{}, &ProtocolError{"too big reply"}
	}
	var data strings.Builder
	if _, err := io.CopyN(&data, p.r, int64(n)); err != nil {
		return Value{}, err
	}
	var end [2]byte
	if _, err := io.ReadFull(p.r, end[:]); err != nil {
		return Value{}, err
	}
	if string(end[:]) != "\r\n" {
		return Value{}, errBulkEnd
	}
	if kind == Verbatim && (n < 4 || data.String()[3] != ':') {
		return Value{}, &ProtocolError{"invalid verbatim string in reply"}
	}
	return Value{Kind: kind, Text: data.String()}, nil
}
