package jsontext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy/jsontext"
)

// twice reports whether an object contains a duplicate name, using the tokens of encoding/json.
func twice(data []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var open [][]string // each object's names, or nil for an array
	isName := func() bool { return len(open) > 0 && open[len(open)-1] != nil && len(open[len(open)-1])%2 == 0 }
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		if text, ok := token.(string); ok && isName() {
			names := open[len(open)-1]
			for i := 0; i < len(names); i += 2 {
				if strings.EqualFold(names[i], text) {
					return true
				}
			}
		}
		closing := token == json.Delim('}') || token == json.Delim(']')
		if closing {
			open = open[:len(open)-1]
		}
		if last := len(open) - 1; last >= 0 && open[last] != nil && token != json.Delim('{') && token != json.Delim('[') {
			text, _ := token.(string)
			open[last] = append(open[last], text) // a name, or the value after it
		}
		switch token {
		case json.Delim('{'):
			open = append(open, []string{})
		case json.Delim('['):
			open = append(open, nil)
		}
	}
}

// FuzzTwice checks that the scanner reports duplicate names in objects of valid JSON, and nothing else.
func FuzzTwice(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":{"a":2}}`, `{"a":1,"a":2}`, `{"a":[{"b":1},{"b":1}]}`, `{"a":"\\","A":"{\"b\":1}"}`, `[{"x":{}},{"x":[]}]`, `{"a":{"b":1},"c":[1],"a":2}`,
		`{"\u0061":1,"a":2}`, `{"a":["a","a"],"b":"a"}`, `{"":1,"":2}`, `[[],{"a":{}},{"b":[{"a":1,"b":2,"A":3}]}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || jsontext.Check(data) != nil {
			return
		}
		b := jsontext.Bounds{Depth: 16, Elements: []int{1 << 20}, Names: 1 << 20, Text: 1 << 20, Name: 1 << 20, Number: 1 << 20}
		err := jsontext.NewScanner(&b).Write(data)
		if _, beyond := errors.AsType[*jsontext.BoundError](err); beyond {
			return
		}
		if _, found := errors.AsType[*jsontext.Error](err); found != twice(data) {
			t.Errorf("%s: %v", data, err)
		}
	})
}
