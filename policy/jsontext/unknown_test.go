package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy/jsontext"
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
		if bad := jsontext.Unknown([]byte(text), []string{"a", "b", "list"}); (bad != nil && bad.Unknown) != rejected && !tooDeep(bad) {
			t.Errorf("%s: unknown %v, the decoder says %v", text, bad, err)
		}
	})
}

func tooDeep(bad *jsontext.Error) bool {
	return bad != nil && bad.Detail == "nested deeper than 16 levels"
}

// TestMembers checks that an object's own members are set by their known names, that errors have their path, and that
// the nesting is checked.
func TestMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"x":1}}`:                    `a={"x":1}`,
		`{ "b" : "},\"a\":" , "\u0041":2}`: `b="},\"a\":" a=2`,
		`{}`:                               "",
		`null`:                             "",
		`[1]`:                              "json: cannot unmarshal array into Go value of type struct {}",
		`{"A":1,"x":2}`:                    `unknown field "x"`,
		`{"a":` + deep(15) + `}`:           "a=" + deep(15),
		`{"a":` + deep(16) + `}`:           "nested deeper than 16 levels",
		`{"b":"bad"}`:                      "json: cannot unmarshal string into Go struct field .b of type int",
	} {
		var set []string
		err := jsontext.Members([]byte(text), []string{"a", "b"}, func(name string, value []byte) error {
			set = append(set, name+"="+string(value))
			if string(value) == `"bad"` {
				return json.Unmarshal(value, new(int))
			}
			return nil
		})
		got := strings.Join(set, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// deep returns arrays inside each other.
func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
