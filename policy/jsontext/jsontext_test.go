package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headgate/headgate/policy/jsontext"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"key":"joe"}`:            "",
		`{"key":"é✓😀"}`:            "",
		`"\u00e9 \ud83d\ude00 \\"`: "",
		`"\\ud800"`:                "",
		`"\"\\\\\u0041"`:           "",
		"\"a\xff\"":                "byte 0xff at 2; accepted: UTF-8",
		`"\ud800"`:                 `\ud800 at byte 1 is half of a surrogate pair`,
		`"\ud800\ud800"`:           `\ud800 at byte 1`,
		`"x\udc00\ud83d"`:          `\udc00 at byte 2`,
		`"\uD83D\n"`:               `\uD83D at byte 1`,
		`"\ud83d\ude00\udc00"`:     `\udc00 at byte 13`,
		`\`:                        "",
		`"\ud8`:                    "",
	} {
		err := jsontext.Check([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzCheck (regression: bug 51) checks that encoding/json adds no replacement characters to text that Check accepts.
func FuzzCheck(f *testing.F) {
	f.Add(`\ud83d\ude00`)
	f.Add(`\ud800`)
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, inside string) {
		text := []byte(`"` + inside + `"`)
		var read string
		if json.Unmarshal(text, &read) != nil {
			return
		}
		has := strings.ContainsRune(inside, utf8.RuneError) && utf8.ValidString(inside) || strings.Contains(strings.ToLower(inside), `\ufffd`)
		if jsontext.Check(text) == nil && strings.ContainsRune(read, utf8.RuneError) && !has {
			t.Errorf("%q is read as %q", text, read)
		}
	})
}
