package httpapi

import (
	"encoding/json"
	"testing"
)

// FuzzRepeated: an object whose names differ loses nothing when it is read and
// written; one with a name twice has fewer names afterwards. Names that differ in
// case alone are one.
func FuzzRepeated(f *testing.F) {
	for _, text := range []string{`{"a":1,"b":{"a":2}}`, `{"a":1,"a":2}`, `{"a":[{"b":1},{"b":1}]}`, `{"a":"\\","A":"{\"b\":1}"}`, `[{"x":{}},{"x":[]}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var flat map[string]string
		if !json.Valid(data) {
			return
		}
		name, twice := repeated(data)
		if json.Unmarshal(data, &flat) != nil || len(flat) == 0 {
			return
		}
		again, err := json.Marshal(flat)
		if err != nil {
			t.Fatal(err)
		}
		if !twice {
			if other, changed := repeated(again); changed && len(flat) < tracked {
				t.Errorf("%s has no name twice, and its copy %s has %q", data, again, other)
			}
			return
		}
		if len(flat) == 0 || json.Unmarshal(data, &flat) != nil {
			t.Errorf("%s: %q stands twice in nothing", data, name)
		}
	})
}
