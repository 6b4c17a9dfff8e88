package wire

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestInlineWords(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{`SET k v`, []string{"SET", "k", "v"}},
		{"  SET\t k\v\fv ", []string{"SET", "k", "v"}},
		{`back\slash\n`, []string{`back\slash\n`}},
		{"nul\x00byte caf\u00e9 \xff", []string{"nul\x00byte", "caf\u00e9", "\xff"}},
	}
	for _, test := range tests {
		got, err := readAll(strings.NewReader(test.line + "\r\n"))
		if err != io.EOF || len(got) != 1 || !slices.Equal(got[0], test.want) {
			t.Errorf("%q is read as %q, %v; want %q", test.line, got, err, test.want)
		}
	}
}
