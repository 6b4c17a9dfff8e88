package jsontext

import (
	"errors"
	"fmt"
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

// ElementsError is the error of an array with more elements than it may have.
type ElementsError struct {
	Name string // of the array; "" if it is not a field
	Most int
}

// Error implements error.
func (e *ElementsError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("an array has more than %d elements", e.Most)
	}
	return fmt.Sprintf("%.64s has more than %d elements", e.Name, e.Most)
}

// Scanner checks the bounds of a text that arrives in pieces. It finds no other mistakes: a text that passes
// need not be JSON.
type Scanner struct {
	bounds *Bounds
	open   [maxDepth]level // arrays and objects around the position
	depth  int

	quoted, escaped bool
	length          int    // of the text or number at the position
	isName          bool   // the text is a name
	name            []byte // the last name, or as much of it as has come
	nameNext        bool   // a text would be a name
}

// level is an array or an object.
type level struct {
	array  bool
	commas int
	name   string // of an array
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

// inText takes a byte of a text.
func (s *Scanner) inText(c byte) error {
	if c == '"' && !s.escaped {
		s.quoted = false
		if s.isName && s.bounds.Field != nil {
			name := s.name
			if text := unescape(name); len(text) != len(name) {
				name = []byte(text)
			}
			return s.bounds.Field(s.depth, name)
		}
		return nil
	}
	s.escaped = c == '\\' && !s.escaped
	s.length++
	switch {
	case s.isName && s.length > s.bounds.Name:
		return fmt.Errorf("a name has more than %d bytes", s.bounds.Name)
	case s.isName:
		s.name = append(s.name, c)
	case s.length > s.bounds.Text:
		return fmt.Errorf("a text has more than %d bytes", s.bounds.Text)
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
		s.depth, s.nameNext = max(0, s.depth-1), false
	case ',':
		return s.next()
	case ':':
		s.nameNext = false
	default:
		if s.length = before + 1; s.length > s.bounds.Number {
			return fmt.Errorf("a number has more than %d characters", s.bounds.Number)
		}
	}
	return nil
}

// begin takes the beginning of an array or object.
func (s *Scanner) begin(array bool) error {
	if s.depth == s.bounds.Depth {
		return fmt.Errorf("nested deeper than %d levels", s.bounds.Depth)
	}
	l := level{array: array}
	if array && s.depth > 0 && !s.open[s.depth-1].array {
		l.name = string(s.name)
	}
	s.open[s.depth] = l
	s.depth++
	s.nameNext = !array
	return nil
}

// next takes the comma before another element or name.
func (s *Scanner) next() error {
	if s.depth == 0 {
		return errors.New("a comma outside of the value")
	}
	l := &s.open[s.depth-1]
	l.commas++
	s.nameNext = !l.array
	if !l.array {
		if l.commas >= s.bounds.Names {
			return fmt.Errorf("an object has more than %d fields", s.bounds.Names)
		}
		return nil
	}
	most := s.bounds.Elements[min(max(0, s.depth-2), len(s.bounds.Elements)-1)]
	if l.commas >= most {
		return &ElementsError{Name: l.name, Most: most}
	}
	return nil
}
