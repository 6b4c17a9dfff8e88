package accesslog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A line that was cut off, or that another program wrote, does not change how the other lines are read.
// (Regression: bug 129.)
func TestFewLinesDoNotChangeTheFormat(t *testing.T) {
	combined := strings.TrimSuffix(wholeLine(0, "/a"), "\n")
	main := combined + ` "203.0.113.9"`
	common, _, _ := strings.Cut(combined, ` "-"`)
	json := `{"ts":1795356309,"uri":"/a"}`
	for _, c := range []struct {
		name, about string
		most, odd   string
		of          int
	}{
		{"combined, cut", "combined of", combined, common, 100},
		{"main, cut", "nginx's main", main, combined, 100},
		{"main, cut further", "nginx's main", main, common, 100},
		{"main, a short log", "nginx's main", main, combined, 3},
		{"JSON", "lines of JSON", json, "started", 100},
		{"JSON among lines of a format", "lines of JSON", json, combined, 100},
		{"a format among JSON", "combined of", combined, json, 100},
		{"no line is cut", "nginx's main", main, main, 2},
	} {
		for _, place := range []int{0, c.of / 2, c.of - 1} {
			lines := slices.Repeat([]string{c.most}, c.of)
			lines[place] = c.odd
			o := Options{}
			format, err := o.choose(lines)
			if err != nil || !strings.HasPrefix(format.about, c.about) {
				t.Errorf("%s, line %d of %d: %q %v, want %q", c.name, place+1, c.of, format.about, err, c.about)
			}
		}
	}
}

// A log with two formats in similar numbers is read in the format that both contain.
func TestManyLinesOfTwoFormats(t *testing.T) {
	combined := strings.TrimSuffix(wholeLine(0, "/a"), "\n")
	for _, mains := range []int{1, 50, 80} {
		lines := slices.Concat(slices.Repeat([]string{combined + ` "203.0.113.9"`}, mains), slices.Repeat([]string{combined}, 100-mains))
		o := Options{}
		if format, err := o.choose(lines); err != nil || format.about != "combined of nginx and Apache" {
			t.Errorf("%d of 100 lines of main: %q %v", mains, format.about, err)
		}
	}
}

// The lines that do not match the format are named and counted.
func TestLinesOfAnotherFormatAreNamed(t *testing.T) {
	common, _, _ := strings.Cut(wholeLine(0, "/cut"), ` "-"`)
	l := opened(t, Options{}, written(t, "log", []byte(strings.Repeat(wholeLine(0, "/a"), 50)+common+"\n"+wholeLine(1, "/b"))))
	if requests := all(t, l); len(requests) != 51 {
		t.Errorf("%d requests", len(requests))
	}
	if s := l.Stats(); s.Bad != 1 || len(s.FirstBad) != 1 || s.FirstBad[0].Line != 51 {
		t.Errorf("stats %+v", s)
	}
}

func TestUnreadableCompressionsAreNamed(t *testing.T) {
	for name, head := range map[string]string{"bzip2": "BZh91AY&SY", "xz": "\xfd7zXZ\x00", "zip": "PK\x03\x04", "lz4": "\x04\x22\x4d\x18", "Zstandard": "\x28\xb5\x2f\xfd"} {
		path := written(t, "log", []byte(head+"rest of the file"))
		want := fmt.Sprintf("%s: the file is compressed with %s; accepted: ", path, name)
		if _, err := Open([]string{path}, nil, Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A field that first occurs after the lines that show the format is read too. Whether the log has a needed field is known
// only at its end (regression: bug 131).
func TestJSONFieldsThatOccurLate(t *testing.T) {
	early := strings.Repeat(`{"ts":1795356309,"uri":"/a"}`+"\n", 150)
	late := `{"ts":1795356310,"uri":"/b","user_agent":"curl","x_forwarded_for":"203.0.113.7","client_ip":"10.0.0.1"}` + "\n"
	needs := []Need{{Kind: Client, By: "route 0"}, {Kind: Head, Name: "X-Forwarded-For", By: "route 0"}}
	l := opened(t, Options{}, written(t, "log", []byte(early+late)))
	if err := l.Want(needs); err != nil {
		t.Fatal(err)
	}
	requests := all(t, l)
	if last := requests[150]; last.Agent != "curl" || last.Client.String() != "10.0.0.1" || !slices.Equal(last.Headers, []Header{{"X-Forwarded-For", "203.0.113.7"}}) {
		t.Errorf("%+v", last)
	}
	l = opened(t, Options{}, written(t, "log", []byte(early)))
	if err := l.Want(needs); err != nil {
		t.Fatal(err)
	}
	err := l.Run(t.Context(), func([]Request) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "route 0 needs the client, which ") {
		t.Errorf("%v", err)
	}
	l = opened(t, Options{}, written(t, "log", []byte(early)))
	if l.Want([]Need{{Kind: Head, Name: "X-User"}}) == nil {
		t.Error("a header that no field is known for is not missing")
	}
}

// TestFieldsBeforeTheClient checks that lines with an unknown field before the client have no format. Regression: the
// field was taken for the client, so that a whole site was one key, or each request had its own (regression: bug 172).
func TestFieldsBeforeTheClient(t *testing.T) {
	for _, line := range []string{
		`"203.0.113.7, 199.96.1.1" 10.2.1.185 - - [22/Jan/2016:13:18:29 +0000] "GET /a HTTP/1.1" 200 25507 "-" "x"`,
		`req-77 203.0.113.7 - - [22/Jan/2016:13:18:29 +0000] "GET /a HTTP/1.1" 200 25507`,
	} {
		if format, err := (&Options{}).choose([]string{line, line, line}); err == nil || !strings.Contains(err.Error(), "no format is known that reads") {
			t.Errorf("%s: %v %v", line, format.about, err)
		}
	}
}

// TestDeepFieldsAreNotRead checks the bound on the levels that are read, each of which takes the time of the line's length.
func TestDeepFieldsAreNotRead(t *testing.T) {
	const levels = 10_000
	line, names := strings.Repeat(`{"a":`, levels)+"1"+strings.Repeat("}", levels), 0
	walk(gjson.Parse(line), nil, maxDepth, func([]byte, gjson.Result) { names++ })
	if names != maxDepth {
		t.Errorf("%d names", names)
	}
	l := opened(t, Options{}, written(t, "log", []byte(`{"ts":1795356309,"uri":"/a","deep":`+line+"}")))
	if requests := all(t, l); len(requests) != 1 {
		t.Errorf("%d requests", len(requests))
	}
}
