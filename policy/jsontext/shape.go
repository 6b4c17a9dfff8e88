package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/headgate/headgate/engine"
)

// Bounds limits a client's JSON text. The bounds are checked while the text arrives, before memory is allocated for its
// values, because a megabyte can contain half a million values.
type Bounds struct {
	// Depth is the maximum nesting of arrays and objects, at most 16.
	Depth int
	// Elements bounds the number of elements in arrays, by depth. Elements of the outermost value have depth 2. The
	// last bound also applies to deeper arrays.
	Elements []int
	// Names bounds the number of names in one object.
	Names int
	// Text bounds the number of bytes between the quotes of a string. Name bounds the bytes in a name, and Number
	// bounds the bytes in a number or word.
	Text, Name, Number int
	// Field is called with each name and the depth of its object. If it returns an error, the scan ends. The name is
	// valid only during the call. Field can be nil.
	Field func(depth int, name []byte) error
}

// maxDepth is the maximum value of Bounds.Depth.
const maxDepth = 16

// BoundError is the error for text that exceeds a bound.
type BoundError struct {
	// Array is the name of the array with too many elements, or "" for other bounds.
	Array string

	text string
}

// Error returns the error message.
func (e *BoundError) Error() string { return e.text }

func beyond(format string, values ...any) error {
	return &BoundError{text: fmt.Sprintf(format, values...)}
}

// Scanner checks the bounds on JSON text that arrives in pieces, and rejects duplicate names in an object.
// encoding/json would use the last of two values, but another reader, such as a proxy that checks the body, may use the
// first. A Scanner checks nothing else, so text that it accepts is not always JSON.
type Scanner struct {
	bounds *Bounds
	open   [maxDepth]level // arrays and objects that contain the position
	depth  int

	quoted, escaped bool
	length          int    // of the string or number at the position
	isName          bool   // the string is a name
	name            []byte // the last name, or the part of it received so far
	nameNext        bool   // the next string is a name

	seen []byte // concatenated names in the objects that contain the position
	ends []int  // where the names in seen end
}

// level is an array or an object.
type level struct {
	array  bool
	commas int
	name   string // of the array
	first  int    // where the object's names start in Scanner.ends
}

// NewScanner returns a scanner for one JSON text.
func NewScanner(b *Bounds) *Scanner { return &Scanner{bounds: b} }

// Write checks the next piece of the text. If it returns an error, the text must be rejected.
func (s *Scanner) Write(piece []byte) error {
	for _, c := range piece {
		var err error
		if s.quoted {
			err = s.inText(c)
		} else {
			err = s.outside(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// These constants bound the memory that ReadAll allocates before any bytes have arrived.
const (
	leastRead = 512
	firstRead = 4 << 10
)

// ReadAll reads text to its end, but stops at the first byte that exceeds one of the scanner's bounds. The reader must
// bound the text's length, and the most argument bounds the allocated memory. announced is the announced length, or -1
// if unknown. ReadAll trusts it up to 4 KiB.
func ReadAll(r io.Reader, s *Scanner, announced int64, most int) ([]byte, error) {
	first := int64(firstRead)
	if announced >= 0 {
		first = min(max(announced+1, leastRead), firstRead) // one more byte, to detect the end
	}
	data := make([]byte, 0, first)
	for {
		if len(data) == cap(data) {
			data = append(make([]byte, 0, max(min(2*cap(data), most), cap(data)+1)), data...)
		}
		n, err := r.Read(data[len(data):cap(data)])
		if err := s.Write(data[len(data) : len(data)+n]); err != nil {
			return nil, err
		}
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// inText processes a byte of a string.
func (s *Scanner) inText(c byte) error {
	if c == '"' && !s.escaped {
		s.quoted = false
		if s.isName {
			if bytes.IndexByte(s.name, '\\') >= 0 {
				return s.named([]byte(unescape(s.name)))
			}
			return s.named(s.name)
		}
		return nil
	}
	s.escaped = c == '\\' && !s.escaped
	s.length++
	switch {
	case s.isName && s.length > s.bounds.Name:
		return beyond("a name has more than %d bytes", s.bounds.Name)
	case s.isName:
		s.name = append(s.name, c)
	case s.length > s.bounds.Text:
		return beyond("a text has more than %d bytes", s.bounds.Text)
	}
	return nil
}

// outside processes a byte that is not part of a string.
func (s *Scanner) outside(c byte) error {
	before := s.length
	s.length = 0
	switch c {
	case ' ', '\t', '\r', '\n':
	case '"':
		s.quoted, s.isName = true, s.nameNext
		if s.isName {
			s.name = s.name[:0]
		}
	case '{', '[':
		return s.begin(c == '[')
	case '}', ']':
		s.end()
	case ',':
		return s.next()
	case ':':
		s.nameNext = false
	default:
		if s.length = before + 1; s.length > s.bounds.Number {
			return beyond("a number has more than %d characters", s.bounds.Number)
		}
	}
	return nil
}

// begin processes the beginning of an array or object.
func (s *Scanner) begin(array bool) error {
	if s.depth == s.bounds.Depth {
		return beyond("nested deeper than %d levels", s.bounds.Depth)
	}
	l := level{array: array, first: len(s.ends)}
	if array && s.depth > 0 && !s.open[s.depth-1].array {
		l.name = string(s.name)
	}
	s.open[s.depth] = l
	s.depth++
	s.nameNext = !array
	return nil
}

// end processes the end of an array or object.
func (s *Scanner) end() {
	s.nameNext = false
	if s.depth > 0 {
		s.depth--
		first := s.open[s.depth].first
		s.seen, s.ends = s.seen[:s.begins(first)], s.ends[:first]
	}
}

// named processes a name with its escapes decoded. Names that differ only in case are equal, as in encoding/json.
func (s *Scanner) named(name []byte) error {
	if s.bounds.Field != nil {
		if err := s.bounds.Field(s.depth, name); err != nil {
			return err
		}
	}
	for i := s.open[s.depth-1].first; i < len(s.ends); i++ {
		if bytes.EqualFold(s.seen[s.begins(i):s.ends[i]], name) {
			shown := engine.Cut(string(name))
			return &Error{Field: shown, Detail: shown + " occurs twice in one object; accepted: each name once"}
		}
	}
	s.seen = append(s.seen, name...)
	s.ends = append(s.ends, len(s.seen))
	return nil
}

// begins returns the position in seen where name i begins.
func (s *Scanner) begins(i int) int {
	if i == 0 {
		return 0
	}
	return s.ends[i-1]
}

// unescape returns a name with its escapes decoded: "\u0061" becomes a.
func unescape(name []byte) (text string) {
	if bytes.IndexByte(name, '\\') < 0 || json.Unmarshal([]byte(`"`+string(name)+`"`), &text) != nil {
		return string(name)
	}
	return text
}

// next processes the comma before another element or name.
func (s *Scanner) next() error {
	if s.depth == 0 {
		return beyond("a comma outside of the value")
	}
	l := &s.open[s.depth-1]
	l.commas++
	s.nameNext = !l.array
	if !l.array {
		if l.commas >= s.bounds.Names {
			return beyond("an object has more than %d fields", s.bounds.Names)
		}
		return nil
	}
	most := s.bounds.Elements[min(max(0, s.depth-2), len(s.bounds.Elements)-1)]
	if l.commas >= most {
		what := "an array"
		if l.name != "" {
			what = l.name
		}
		return &BoundError{Array: l.name, text: fmt.Sprintf("%.64s has more than %d elements", what, most)}
	}
	return nil
}
