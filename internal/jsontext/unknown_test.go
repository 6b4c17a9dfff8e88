package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headgate/headgate/internal/jsontext"
)

// FuzzUnknown checks that a name is unknown if and only if a decoder that rejects unknown fields reports it.
func FuzzUnknown(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1,"B":2}`, `{"list":{"x":[{"y":1}]},"A":1}`, `{"c":1}`, `{"a":"c:","x":1}`, `{"\u0061":1}`, `{"a\"":1}`, `[{"x":1}]`, `"x:"`, `null`, `{"":1}`,
		`{"liſt":1}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || jsontext.Check([]byte(text)) != nil {
			return
		}
		var fields struct {
			A    json.RawMessage `json:"a"`
			B    json.RawMessage `json:"b"`
			List json.RawMessage `json:"list"`
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&fields)
		_, rejected := strings.CutPrefix(errorText(err), "json: unknown field ")
		if name, found := jsontext.Unknown([]byte(text), []string{"a", "b", "list"}); found != rejected {
			t.Errorf("%s: unknown %q (%t), the decoder says %v", text, name, found, err)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
