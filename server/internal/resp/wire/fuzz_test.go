package wire

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// commandSeeds contains inputs of each form that the readers distinguish.
var commandSeeds = []string{
	"PING\r\n", "ECHO \"a\\x41\" 'b c' d\"e\"\n", "\r\n \r\nPING\n", "PING\rPING\n", "ECHO 'a\r\n",
	"*1\r\n$4\r\nPING\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\nPING\r\n",
	"*0\r\n*-1\r\n*1\r\n$1\r\na\r\n", "*1\r\n$-1\r\n", "*9999999999\r\n", "*1\r\n$9999999999\r\n",
	"*1\r\n*1\r\n$1\r\na\r\n", "*-2\r\n", "*+1\r\n", "*01\r\n", "*1\r$1", "*1\n$1\n", "*1\r\n$1\r\nab\r\n",
	"*1\r\n$2\r\n\xff\xfe\r\n", "*11111111111111111111111111111111111111", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}

func FuzzCommandsReencode(f *testing.F) {
	for _, seed := range commandSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		commands, _ := readAll(bytes.NewReader(in))
		var out []byte
		for _, words := range commands {
			out = resptest.AppendCommand(out, words...)
		}
		again, err := readAll(bytes.NewReader(out))
		if err != io.EOF || !slices.EqualFunc(again, commands, slices.Equal) {
			t.Errorf("%q is read as %q, written and read again as %q, %v", in, commands, again, err)
		}
	})
}

func FuzzCommandsSplit(f *testing.F) {
	for _, seed := range commandSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want, wantErr := readAll(bytes.NewReader(in))
		check := func(how string, src io.Reader) {
			got, err := readAll(src)
			if !slices.EqualFunc(got, want, slices.Equal) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%q %s is read as %q, %v; whole as %q, %v", in, how, got, err, want, wantErr)
			}
		}
		check("byte by byte", iotest.OneByteReader(bytes.NewReader(in)))
		for i := range min(len(in), 512) { // a longer input only takes longer to copy
			check(fmt.Sprintf("split at %d", i), io.MultiReader(bytes.NewReader(in[:i]), bytes.NewReader(in[i:])))
		}
	})
}
