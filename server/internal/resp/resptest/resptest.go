// Package resptest writes commands and reads replies in RESP 2 and 3, for tests of a connection's bytes. Programs use a
// Redis client.
package resptest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// AppendCommand appends a command in the form that clients send: an array of bulk strings.
func AppendCommand[S ~string | ~[]byte](dst []byte, words ...S) []byte {
	dst = fmt.Appendf(dst, "*%d\r\n", len(words))
	for _, word := range words {
		dst = fmt.Appendf(dst, "$%d\r\n%s\r\n", len(word), word)
	}
	return dst
}

// Kind is the type of a Value: the type byte that RESP3 sends first.
type Kind byte

// The kinds that the server sends.
const (
	Simple   Kind = '+'
	Error    Kind = '-'
	Integer  Kind = ':'
	Bulk     Kind = '$'
	Array    Kind = '*'
	Null     Kind = '_' // also RESP2's null string and null array
	Bool     Kind = '#'
	Verbatim Kind = '='
	Map      Kind = '%' // Items: key, value, key, value, …
	Set      Kind = '~'
)

// Value is one reply. Fields that its kind does not use are zero.
type Value struct {
	Kind  Kind
	Text  string
	Int   int64
	Items []Value
}

// Read reads one reply.
func Read(r *bufio.Reader) (v Value, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return v, err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok || text == "" {
		return v, fmt.Errorf("not a line of RESP: %q", line)
	}
	v.Kind, text = Kind(text[0]), text[1:]
	switch v.Kind {
	case Simple, Error:
		v.Text = text
	case Null:
	case Bool:
		v.Int = map[string]int64{"t": 1}[text]
	case Integer:
		v.Int, err = strconv.ParseInt(text, 10, 64)
	default:
		return v.read(r, text)
	}
	return v, err
}

// read reads a value whose first line has its length.
func (v Value) read(r *bufio.Reader, length string) (Value, error) {
	n, err := strconv.Atoi(length)
	switch {
	case err != nil || n < -1:
		return v, fmt.Errorf("not a length of RESP: %q", length)
	case n < 0:
		return Value{Kind: Null}, nil
	case v.Kind == Map:
		n *= 2
	}
	switch v.Kind {
	case Bulk, Verbatim:
		data := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(r, data); err != nil {
			return v, err
		}
		v.Text = string(data[:n])
	case Array, Map, Set:
		for range n {
			item, err := Read(r)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
	default:
		return v, fmt.Errorf("not a type of RESP: %q", v.Kind)
	}
	return v, nil
}
