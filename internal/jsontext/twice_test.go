package jsontext

import (
	"encoding/json"
	"testing"
)

// FuzzTwice: an object with different names keeps them all when it is decoded and
// encoded again, and then still has no duplicate.
func FuzzTwice(f *testing.F) {
	for _, text := range []string{`{"a":1,"b":{"a":2}}`, `{"a":1,"a":2}`, `{"a":[{"b":1},{"b":1}]}`, `{"a":"\\","A":"{\"b\":1}"}`, `[{"x":{}},{"x":[]}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var flat map[string]string
		if !json.Valid(data) {
			return
		}
		name, found := Twice(data)
		if json.Unmarshal(data, &flat) != nil || len(flat) == 0 {
			return
		}
		again, err := json.Marshal(flat)
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			if other, changed := Twice(again); changed && len(flat) < maxNames {
				t.Errorf("%s has no duplicate name, but its copy %s has %q", data, again, other)
			}
			return
		}
		if len(flat) == 0 || json.Unmarshal(data, &flat) != nil {
			t.Errorf("%s: %q is reported as a duplicate in an empty object", data, name)
		}
	})
}
