package wire

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadValue(t *testing.T) {
	ints := []Value{{Kind: Integer, Int: 1}, {Kind: Integer, Int: 2}}
	tests := []struct {
		in   string
		want Value
		out  string // output of v.Append; empty if it equals in
	}{
		{"+OK\r\n", Value{Kind: Simple, Text: "OK"}, ""},
		{"+\r\n", Value{Kind: Simple}, ""},
		{"-ERR no\r\n", Value{Kind: Error, Text: "ERR no"}, ""},
		{":-7\r\n", Value{Kind: Integer, Int: -7}, ""},
		{":+07\r\n", Value{Kind: Integer, Int: 7}, ":7\r\n"},
		{"$3\r\na\r\n\r\n", Value{Kind: Bulk, Text: "a\r\n"}, ""},
		{"$-1\r\n", Value{Kind: Null}, "_\r\n"},
		{"*-1\r\n", Value{Kind: Null}, "_\r\n"},
		{"_\r\n", Value{Kind: Null}, ""},
		{"*0\r\n", Value{Kind: Array}, ""},
		{"*2\r\n:1\r\n:2\r\n", Value{Kind: Array, Items: ints}, ""},
		{"%1\r\n:1\r\n:2\r\n", Value{Kind: Map, Items: ints}, ""},
		{"~2\r\n:1\r\n:2\r\n", Value{Kind: Set, Items: ints}, ""},
		{">2\r\n:1\r\n:2\r\n", Value{Kind: Push, Items: ints}, ""},
		{"#t\r\n", Value{Kind: Bool, Int: 1}, ""},
		{"#f\r\n", Value{Kind: Bool}, ""},
		{",1.50e3\r\n", Value{Kind: Double, Text: "1.50e3"}, ""},
		{",-inf\r\n", Value{Kind: Double, Text: "-inf"}, ""},
		{"(-123456789012345678901234567890\r\n", Value{Kind: BigNumber, Text: "-123456789012345678901234567890"}, ""},
		{"!6\r\nERR no\r\n", Value{Kind: BulkError, Text: "ERR no"}, ""},
		{"=6\r\ntxt:hi\r\n", Value{Kind: Verbatim, Text: "txt:hi"}, ""},
		{"|1\r\n:1\r\n:2\r\n+OK\r\n", Value{Kind: Simple, Text: "OK", Attrs: ints}, ""},
		{"|0\r\n+OK\r\n", Value{Kind: Simple, Text: "OK"}, "+OK\r\n"},
		{strings.Repeat("*1\r\n", MaxDepth) + "_\r\n", nested(MaxDepth), ""},
	}
	for _, test := range tests {
		got, err := ReadValue(NewReplyReader(iotest.OneByteReader(strings.NewReader(test.in))))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q is read as %+v, %v; want %+v", test.in, got, err, test.want)
			continue
		}
		want := test.out
		if want == "" {
			want = test.in
		}
		if out := string(got.Append(nil)); out != want {
			t.Errorf("%q is written as %q, want %q", test.in, out, want)
		}
	}
}

// nested returns a null inside the given number of nested arrays.
func nested(depth int) Value {
	v := Value{Kind: Null}
	for range depth {
		v = Value{Kind: Array, Items: []Value{v}}
	}
	return v
}

func TestReadValueRefuses(t *testing.T) {
	for _, in := range []string{
		"\r\n", "x\r\n", "+a\n", "+a\rb\r\n", "+a\r\r\n",
		":\r\n", ":1x\r\n", ":9223372036854775808\r\n", ": 1\r\n", ":1_0\r\n",
		"$9999999999\r\n", "$-2\r\n", "$+1\r\na\r\n", "$01\r\na\r\n", "$1\r\nabc", "$?\r\n",
		"*9999999999\r\n", "*-2\r\n", "*65537\r\n", "*?\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n",
		"%65536\r\n" + strings.Repeat("_\r\n", 2*65536),
		strings.Repeat("*1\r\n", MaxDepth+1) + "_\r\n", strings.Repeat("|1\r\n_\r\n_\r\n", MaxDepth+1) + "_\r\n",
		"|1\r\n_\r\n_\r\n|1\r\n_\r\n_\r\n_\r\n", "|-1\r\n_\r\n",
		"#x\r\n", "_x\r\n", ",\r\n", ",0x1p4\r\n", ",infinity\r\n", ",1e999\r\n", "(\r\n", "(+-1\r\n", "(1.5\r\n",
		"=3\r\ntxt\r\n", "=4\r\ntext\r\n", "=-1\r\n", "!-1\r\n",
		"+" + strings.Repeat("x", MaxReplyLine) + "\r\n",
		"$16777217\r\n", "*2\r\n$16777215\r\n" + strings.Repeat("x", 16777215) + "\r\n",
	} {
		v, err := ReadValue(NewReplyReader(strings.NewReader(in)))
		if _, ok := errors.AsType[*ProtocolError](err); !ok {
			t.Errorf("%.60q is read as %+v, %v; want a protocol error", in, v, err)
		}
	}
}

func TestReadValueEnds(t *testing.T) {
	if _, err := ReadValue(NewReplyReader(strings.NewReader(""))); err != io.EOF {
		t.Errorf("before a reply: got error %v, want EOF", err)
	}
	const in = "|1\r\n$1\r\na\r\n:1\r\n*2\r\n$5\r\nhello\r\n=5\r\ntxt:x\r\n"
	for n := 1; n < len(in); n++ {
		if _, err := ReadValue(NewReplyReader(strings.NewReader(in[:n]))); err != io.ErrUnexpectedEOF {
			t.Errorf("after %q: got error %v, want unexpected EOF", in[:n], err)
		}
	}
}
