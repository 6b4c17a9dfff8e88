package wire

import (
	"math"
	"testing"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		name                 string
		do                   func(dst []byte, p Proto) []byte
		wantRESP2, wantRESP3 string
	}{
		{"simple", func(b []byte, _ Proto) []byte { return AppendSimple(b, "OK") }, "+OK\r\n", "+OK\r\n"},
		{"simple cannot be split", func(b []byte, _ Proto) []byte { return AppendSimple(b, "a\r\n:1") }, "+a  :1\r\n", "+a  :1\r\n"},
		{"error", func(b []byte, _ Proto) []byte { return AppendError(b, "ERR no") }, "-ERR no\r\n", "-ERR no\r\n"},
		{"error cannot be split", func(b []byte, _ Proto) []byte { return AppendError(b, "ERR a\nb\r\n+OK\r\n") }, "-ERR a b  +OK  \r\n", "-ERR a b  +OK  \r\n"},
		{"integer", func(b []byte, _ Proto) []byte { return AppendInt(b, math.MinInt64) }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"bulk of string", func(b []byte, _ Proto) []byte { return AppendBulk(b, "a\r\n") }, "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"},
		{"bulk of bytes", func(b []byte, _ Proto) []byte { return AppendBulk(b, []byte{}) }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"null", AppendNull, "$-1\r\n", "_\r\n"},
		{"array", func(b []byte, _ Proto) []byte { return AppendArray(b, 2) }, "*2\r\n", "*2\r\n"},
		{"map", func(b []byte, p Proto) []byte { return AppendMap(b, p, 2) }, "*4\r\n", "%2\r\n"},
		{"set", func(b []byte, p Proto) []byte { return AppendSet(b, p, 2) }, "*2\r\n", "~2\r\n"},
		{"verbatim", func(b []byte, p Proto) []byte { return AppendVerbatim(b, p, "hi") }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
	}
	for _, test := range tests {
		for p, want := range map[Proto]string{RESP2: test.wantRESP2, RESP3: test.wantRESP3} {
			if got := string(test.do([]byte("before"), p)); got != "before"+want {
				t.Errorf("%s in RESP%d is %q, want %q after what was there", test.name, p, got, want)
			}
		}
	}
}
