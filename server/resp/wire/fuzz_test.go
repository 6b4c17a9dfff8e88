package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"
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
			out = AppendCommand(out, words...)
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

func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR no\r\n", ":+1\r\n", ":-0\r\n", "$2\r\nhi\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "*2\r\n:1\r\n*0\r\n",
		"%1\r\n+a\r\n~1\r\n#t\r\n", ">1\r\n,1.5\r\n", ",nan\r\n", "(12345678901234567890\r\n", "!3\r\nERR\r\n",
		"=6\r\ntxt:hi\r\n", "|1\r\n+ttl\r\n:1\r\n+OK\r\n", "|0\r\n_\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n_\r\n",
		"$9999999999\r\n", "*9999999999\r\n", "*?\r\n", "+a\rb\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		src := bytes.NewReader(in)
		r := NewReplyReader(src)
		v, err := ReadValue(r)
		if err != nil {
			var protocol *ProtocolError
			if !errors.As(err, &protocol) && err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Errorf("%q: unexpected error %v", in, err)
			}
			return
		}
		out := v.Append(nil)
		again, err := ReadValue(NewReplyReader(bytes.NewReader(out)))
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%q is read as %+v, written as %q, read again as %+v, %v", in, v, out, again, err)
		}
		taken := in[:len(in)-src.Len()-r.Buffered()]
		if canonical(v, in) && !bytes.Equal(out, taken) {
			t.Errorf("%q is written as %q", taken, out)
		}
	})
}

// canonical reports whether v, which was read from in, must be written back unchanged: it contains none of the
// exceptions listed at Value.Append.
func canonical(v Value, in []byte) bool {
	if v.Kind == Null || v.Kind == Integer || bytes.Contains(in, []byte("|0")) {
		return false
	}
	for _, item := range slices.Concat(v.Items, v.Attrs) {
		if !canonical(item, in) {
			return false
		}
	}
	return true
}
