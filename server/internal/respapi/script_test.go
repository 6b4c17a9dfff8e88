package respapi

import (
	"regexp"
	"strings"
	"testing"
)

// aCall describes the accepted scripts independently of the parser: white space may be between all tokens.
var aCall = func() *regexp.Regexp {
	const (
		space  = `[ \t\n\v\f\r]*`
		quoted = `(?:'[^'\\\n\r]*'|"[^"\\\n\r]*")`
		name   = `(?:'(?i:cl\.throttle)'|"(?i:cl\.throttle)")`
		entry  = `(?:KEYS|ARGV)` + space + `\[` + space + `[0-9]{1,4}` + space + `\]`
		word   = space + `(?:` + quoted + `|` + entry + `|[0-9]+)` + space
		rest   = space + `unpack` + space + `\(` + space + `ARGV` + space + `\)` + space
	)
	return regexp.MustCompile(`^` + space + `return[ \t\n\v\f\r]` + space + `redis` + space + `\.` + space + `p?call` + space + `\(` + space + name + space +
		`(?:,` + word + `)*(?:,` + rest + `)?\)` + space + `;?` + space + `$`)
}()

// FuzzScript checks that the parser accepts exactly the scripts that aCall describes, and that an accepted script
// passes only its constants and the words of the command to CL.THROTTLE.
func FuzzScript(f *testing.F) {
	for _, text := range []string{
		`return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])`,
		`return redis.call("cl.throttle",KEYS[1],15,30,60)`,
		"\n\treturn  redis . pcall ( 'cl.throttle' , \"k\" , unpack ( ARGV ) ) ; \n",
		`return redis.call('CL.THROTTLE', unpack(ARGV), 1)`,
		`return redis.call('CL.THROTTLE', KEYS[1], 'a\'b')`,
		`return redis.call('CL.THROTTLE', KEYS[1], 1e3, 0x10, 1.5)`,
		`return redis.call('GET', KEYS[1])`,
		`return redis.call('CL.THROTTLE', KEYS[1])[1]`,
		`local key = KEYS[1] return redis.call('CL.THROTTLE', key)`,
		`returnredis.call('CL.THROTTLE')`, `return redis.call('CL.THROTTLE'`, "",
	} {
		f.Add([]byte(text))
	}
	keys, args := [][]byte{[]byte("key")}, [][]byte{[]byte("1"), []byte("2")}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseScript(text)
		if want := len(text) <= maxScript && aCall.Match(text); (err == nil) != want {
			t.Fatalf("%q: %v, want accepted %t", text, err, want)
		}
		if err != nil {
			return
		}
		words, err := s.expand(nil, keys, args)
		for _, word := range words {
			if is := string(word); is != "key" && is != "1" && is != "2" && !strings.Contains(string(text), is) {
				t.Errorf("%q passes %q", text, word)
			}
		}
		if want := len(s.words); err == nil && s.rest && len(words) != want+len(args) || err == nil && !s.rest && len(words) != want {
			t.Errorf("%q passes %d words", text, len(words))
		}
	})
}
