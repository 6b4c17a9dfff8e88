package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/headgate/headgate/internal/format"
)

// Bounds are those of a JSON text that a client sends. They hold while the text arrives, before memory is
// taken for what it says: a megabyte can have half a million values.
type Bounds struct {
	// Depth is how deep arrays and objects may nest, at most 16.
	Depth int
	// Elements bounds the elements of arrays by their depth: those in the outermost value have depth 2.
	// The last one is for deeper arrays too.
	Elements []int
	// Names bounds the names of one object.
	Names int
	// Text bounds the bytes of a text between its quotes, Name those of a name, and Number those of a
	// number or word.
	Text, Name, Number int
	// Field is called for each name, with the depth of its object. Its error ends the text. The name is
	// valid during the call. nil is not called.
	Field func(depth int, name []byte) error
}

// maxDepth is the most that Bounds.Depth can be.
const maxDepth = 16

// BoundError is the error of a text beyond a bound.
type BoundError struct {
	// Array is the name of the array with too many elements; "" for other bounds.
	Array string

	text string
}

// Error implements error.
func (e *BoundError) Error() string { return e.text }

func beyond(format string, values ...any) error {
	return &BoundError{text: fmt.Sprintf(format, values...)}
}

// Scanner checks the bounds of a text that arrives in pieces, and that no name stands twice in one object: of two
// values encoding/json would take the last, and another reader, such as a proxy that checks the body, may take
// the first. It finds no other mistakes: a text that passes need not be JSON.
type Scanner struct {
	bounds *Bounds
	open   [maxDepth]level // arrays and objects around the position
	depth  int

	quoted, escaped bool
	length          int    // of the text or number at the position
	isName          bool   // the text is a name
	name            []byte // the last name, or as much of it as has come
	nameNext        bool   // a text would be a name

	seen []byte // the names of the objects around the position, one after the other
	ends []int  // where each name of seen ends
}

// level is an array or an object.
type level struct {
	array  bool
	commas int
	name   string // of an array
	first  int    // where the names of an object begin in Scanner.ends
}

// NewScanner returns a scanner of one text.
func NewScanner(b *Bounds) *Scanner { return &Scanner{bounds: b} }

// Write checks the next piece of the text. After an error the text is to be refused.
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

// The memory that ReadAll takes before bytes have come.
const (
	leastRead = 512
	firstRead = 4 << 10
)

// ReadAll reads a text to its end, and no further than to the first byte beyond a bound of the scanner. The
// reader bounds its length: most bounds the memory, and announced, -1 if it is not known, is believed up to
// 4 KiB.
func ReadAll(r io.Reader, s *Scanner, announced int64, most int) ([]byte, error) {
	first := int64(firstRead)
	if announced >= 0 {
		first = min(max(announced+1, leastRead), firstRead) // a byte more, to find the end
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

// inText takes a byte of a text.
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

// outside takes a byte that is not part of a text.
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

// begin takes the beginning of an array or object.
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

// end takes the end of an array or object.
func (s *Scanner) end() {
	s.nameNext = false
	if s.depth > 0 {
		s.depth--
		first := s.open[s.depth].first
		s.seen, s.ends = s.seen[:s.begins(first)], s.ends[:first]
	}
}

// named takes a name without its escapes. Names that differ in case alone are equal, as for encoding/json.
func (s *Scanner) named(name []byte) error {
	if s.bounds.Field != nil {
		if err := s.bounds.Field(s.depth, name); err != nil {
			return err
		}
	}
	for i := s.open[s.depth-1].first; i < len(s.ends); i++ {
		if bytes.EqualFold(s.seen[s.begins(i):s.ends[i]], name) {
			shown := format.Cut(string(name))
			return &Error{Field: shown, Detail: shown + " stands twice in one object; accepted: each name once"}
		}
	}
	s.seen = append(s.seen, name...)
	s.ends = append(s.ends, len(s.seen))
	return nil
}

// begins returns where a name of seen begins.
func (s *Scanner) begins(i int) int {
	if i == 0 {
		return 0
	}
	return s.ends[i-1]
}

// unescape returns a name without its escapes: "\u0061" is a.
func unescape(name []byte) (text string) {
	if bytes.IndexByte(name, '\\') < 0 || json.Unmarshal([]byte(`"`+string(name)+`"`), &text) != nil {
		return string(name)
	}
	return text
}

// next takes the comma before another element or name.
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
