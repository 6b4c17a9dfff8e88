package jsontext_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/headgate/headgate/policy/jsontext"
)

var small = jsontext.Bounds{Depth: 4, Elements: []int{3, 2}, Names: 3, Text: 8, Name: 6, Number: 5}

// scan returns the error for text that arrives in chunks of the given size.
func scan(b *jsontext.Bounds, text string, piece int) error {
	s := jsontext.NewScanner(b)
	for part := range slices.Chunk([]byte(text), piece) {
		if err := s.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// TestScanner checks that each bound is enforced at the first byte beyond it, whatever the size of the pieces in
// which the text is written.
func TestScanner(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,2,3],"b":{"c":[1,2]},"d":"x"}`: "",
		`{"a":[1,2,3,4]}`:                       "a has more than 3 elements",
		`{"a":[[1,2,3]]}`:                       "an array has more than 2 elements",
		`[1,2,3,4]`:                             "an array has more than 3 elements",
		`[{"a":[1,2]},{"a":[1,2,3]}]`:           "a has more than 2 elements",
		`{"a":[{"b":1,"c":2},{"d":[,,`:          "d has more than 2 elements",
		`[[[[1]]]]`:                             "",
		`[[[[[`:                                 "nested deeper than 4 levels",
		`{"a":{"a":{"a":{"a":{`:                 "nested deeper than 4 levels",
		`[{},{},{}]`:                            "",
		`{"a":1,"b":2,"c":3}`:                   "",
		`{"a":1,"b":2,"c":3,`:                   "an object has more than 3 fields",
		`{"a":[{"x":1,"y":2},{"x":1,"y":2}]}`:   "",
		`"12345678"`:                            "",
		`"123456789`:                            "a text has more than 8 bytes",
		`{"123456":1}`:                          "",
		`{"1234567`:                             "a name has more than 6 bytes",
		`"[[[[[[,"`:                             "",
		`"\"[[[[[["`:                            "",
		`"\\",[[[[[`:                            "a comma outside of the value",
		`["\\",[[[[[`:                           "nested deeper than 4 levels",
		`12345 12345`:                           "",
		`123456`:                                "a number has more than 5 characters",
		`[true,nulls,-1e10]`:                    "",
		`]]]}}}[[[[[`:                           "nested deeper than 4 levels",
		`{"a":[],"b":[],"c":"\u0041"}`:          "",
	} {
		for _, piece := range []int{1, 3, len(text)} {
			if err := scan(&small, text, piece); fmt.Sprint(err) != want && (want != "" || err != nil) {
				t.Errorf("%s in pieces of %d: %v, want %q", text, piece, err, want)
			}
		}
	}
}

// TestScannerFields checks that Field is called with each unescaped name and its depth, and that an error from Field
// stops the scan.
func TestScannerFields(t *testing.T) {
	var seen []string
	stop := errors.New("stop")
	b := jsontext.Bounds{Depth: 8, Elements: []int{9}, Names: 9, Text: 99, Name: 99, Number: 9, Field: func(depth int, name []byte) error {
		seen = append(seen, fmt.Sprint(depth, string(name)))
		if string(name) == "end" {
			return stop
		}
		return nil
	}}
	text := `{"a":"x","list":["y",{"b" : ["z"],"\u0063":null}],"e\"f":{"g":1},"end":1,"h":2}`
	if err := scan(&b, text, 1); !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
	if want := []string{"1a", "1list", "3b", "3c", `1e"f`, "2g", "1end"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// TestScannerTakesNoMemory checks that the scanner does not allocate per element, so that text needs no memory beyond
// its own bytes.
func TestScannerTakesNoMemory(t *testing.T) {
	text := []byte(`{"list":[` + strings.TrimSuffix(strings.Repeat(`{"name":"value","n":17},`, 1000), ",") + `]}`)
	b := jsontext.Bounds{Depth: 8, Elements: []int{1000}, Names: 9, Text: 99, Name: 99, Number: 9}
	if n := testing.AllocsPerRun(10, func() {
		if err := jsontext.NewScanner(&b).Write(text); err != nil {
			t.Fatal(err)
		}
	}); n > 10 {
		t.Errorf("%v allocations for 1000 elements", n)
	}
}

// TestReadAll checks that text within the bounds is read completely, even if its announced length is wrong, and that
// reading stops at the first byte that exceeds a bound.
func TestReadAll(t *testing.T) {
	b := jsontext.Bounds{Depth: 8, Elements: []int{10_000}, Names: 9, Text: 99, Name: 99, Number: 9}
	text := `[` + strings.Repeat(`"text",`, 9000) + `1]`
	for _, announced := range []int64{-1, 0, 7, int64(len(text)), 1 << 40} {
		got, err := jsontext.ReadAll(iotest.HalfReader(strings.NewReader(text)), jsontext.NewScanner(&b), announced, len(text)+1)
		if string(got) != text || err != nil || cap(got) > 2*len(text) {
			t.Errorf("announced %d: %d bytes in %d, %v", announced, len(got), cap(got), err)
		}
	}
	broken := errors.New("broken")
	if _, err := jsontext.ReadAll(iotest.ErrReader(broken), jsontext.NewScanner(&b), -1, 99); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	var beyond *jsontext.BoundError
	endless := io.MultiReader(strings.NewReader("[[[[[[[[["), iotest.ErrReader(broken))
	if _, err := jsontext.ReadAll(endless, jsontext.NewScanner(&b), -1, 99); !errors.As(err, &beyond) {
		t.Errorf("%v, want a bound", err)
	}
}
