package accesslog

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate/headgate/policy/route"
)

// escape quotes a value in the same way as nginx.
func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// render formats a request as a line in the combined format.
func render(q *Request) string {
	target := q.Path
	if q.Query != "" {
		target += "?" + q.Query
	}
	client, agent := "-", "-"
	if q.Client.IsValid() {
		client = q.Client.String()
	}
	if q.Agent != "" {
		agent = q.Agent
	}
	stamp := time.UnixMicro(q.Time).UTC().Format("02/Jan/2006:15:04:05 -0700")
	return fmt.Sprintf(`%s - - [%s] "%s %s HTTP/1.1" %03d 5 "-" "%s"`, client, stamp, q.Method, escape(target), q.Status, escape(agent))
}

// FuzzCombined checks that a request does not change when it is read, written and read again.
func FuzzCombined(f *testing.F) {
	f.Add(`203.0.113.7 - - [22/Nov/2026:14:05:09 +0000] "GET /a?b=c HTTP/1.1" 200 5 "-" "x"`)
	f.Add(`2001:db8::1 - a b [22/Nov/2026:23:59:60 -1130] "get /\x22 HTTP/1.1" 000 - "\"" "\\x41"`)
	f.Add(`- - - [29/Feb/2024:00:00:00 +0000] "GET http://h#f HTTP/1.1" 999 5 "-" ""`)
	f.Fuzz(func(t *testing.T, line string) {
		reader, err := parseFormat(combinedLog, true)
		if err != nil {
			t.Fatal(err)
		}
		var first, second Request
		if reader.read(line, &first) != nil || first.Host+first.Name != "" || strings.Contains(first.Path, "?") {
			return // render cannot write a host, or a path that contains "?"
		}
		if strings.HasPrefix(first.Path, "-") || !strings.HasPrefix(first.Path, "/") || strings.Contains(first.Query+first.Path, "#") || first.Query == "" && strings.HasSuffix(line, "?") {
			return
		}
		if !route.IsToken(first.Method) || first.Time < 0 {
			t.Fatalf("%q was read as %+v", line, first)
		}
		written := render(&first)
		if err := reader.read(written, &second); err != nil {
			t.Fatalf("%q, written as %q: %v", line, written, err)
		}
		if diff := cmp.Diff(first, second, compareAddresses); diff != "" {
			t.Errorf("%q, written as %q: %s", line, written, diff)
		}
	})
}

// FuzzStamp formats times with package time, and checks that the text in each format is parsed to the same time.
func FuzzStamp(f *testing.F) {
	f.Add(int64(1795356309250001), 3600)
	f.Add(int64(1795356309250001), -34200)
	f.Fuzz(func(t *testing.T, micro int64, offset int) {
		if micro < 10*second || micro > latest || offset%60 != 0 || offset < -14*3600 || offset > 14*3600 {
			return
		}
		zone := time.FixedZone("", offset)
		at := time.UnixMicro(micro).In(zone)
		for _, c := range []struct {
			text string
			want int64
		}{
			{at.Format("02/Jan/2006:15:04:05 -0700"), micro / second * second},
			{at.Format("2006-01-02T15:04:05.000000Z07:00"), micro},
			{at.Format("2006-01-02 15:04:05.000000000-0700"), micro},
			{at.UTC().Format("2006-01-02T15:04:05"), micro / second * second},
			{fmt.Sprintf("%d.%06d", micro/second, micro%second), micro},
		} {
			if len(c.text) < 8 || at.Year() > 9999 {
				continue
			}
			var s stamper
			if got, err := s.read(c.text); err != nil || got != c.want {
				t.Errorf("%s: %d, %v; want %d", c.text, got, err, c.want)
			}
		}
	})
}

// FuzzNumberStamp checks that a number is either parsed as a time in its unit or rejected.
func FuzzNumberStamp(f *testing.F) {
	for _, seed := range []string{"1795356309", "1795356309.25", "1795356309250", "1795356309250001", "1795356309250001999", "17953563.", "-1.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s stamper
		got, err := s.read(text)
		again, errAgain := s.read(text)
		if got != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q is %d, and then %d", text, got, again)
		}
		if err == nil && (got < 0 || got > latest) {
			t.Errorf("%q is %d", text, got)
		}
	})
}

// FuzzJSON checks that a JSON line is either an error or a request with a path, and that parsing it does not depend on
// the other lines.
func FuzzJSON(f *testing.F) {
	const first = `{"ts":1795356309,"uri":"/","client_ip":"203.0.113.7","request":{"headers":{}}}`
	f.Add(`{"ts":1795356309.25,"uri":"/a?b","client_ip":"::1","method":"GET"}`)
	f.Add(`{"ts":"2026-11-22T14:05:09Z","uri":"http://h/x","request":{"headers":{"X-User":["a"]}}}`)
	f.Add(`{"ts":{},"uri":[1]}`)
	f.Fuzz(func(t *testing.T, line string) {
		once, err := newJSON([]string{first})
		if err != nil {
			t.Fatal(err)
		}
		once.want(map[string]bool{"X-User": true}, nil)
		var a, b Request
		err = once.read(line, &a)
		_ = once.read(first, &Request{})
		errAgain := once.read(line, &b)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("%v, and then %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(a, b, compareAddresses); diff != "" {
			t.Error(diff)
		}
		if a.Path == "" || a.Time < 0 || a.Time > latest {
			t.Errorf("%q was read as %+v", line, a)
		}
	})
}

// FuzzLines checks that a file is split into its lines however it is read, and that a line that is too long does not
// affect other lines.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte("\n\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		if step < 1 || step > 1<<20 || len(data) > 1<<16 {
			return
		}
		long := bytes.Repeat([]byte("x"), block+MaxLine)
		whole := append(append(append([]byte(nil), data...), '\n'), append(long, '\n')...)
		whole = append(whole, data...)
		from, err := plain(&stepReader{data: whole, step: step + 512})
		if err != nil {
			return // looks compressed, but is not
		}
		got, longLines := cut(t, from)
		if bytes.HasPrefix(whole, []byte{0x1f, 0x8b}) {
			return
		}
		var want []string
		for line := range strings.SplitSeq(string(data)+"\n"+string(data), "\n") {
			want = append(want, strings.TrimSuffix(line, "\r"))
		}
		if len(data) == 0 || data[len(data)-1] == '\n' {
			want = want[:len(want)-1]
		}
		if longLines != 1 || !slices.Equal(got, want) {
			t.Errorf("%q, and %d too long; want %q", got, longLines, want)
		}
	})
}

// cut reads all lines.
func cut(t *testing.T, from io.Reader) (got []string, longLines int) {
	t.Helper()
	buffered, err := plain(from)
	if err != nil {
		return nil, 0
	}
	for {
		line, tooLong, err := nextLine(buffered)
		if err != nil {
			return got, longLines
		}
		if tooLong {
			longLines++
		} else {
			got = append(got, line)
		}
	}
}

// stepReader returns a few bytes at a time.
type stepReader struct {
	data []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(len(r.data), r.step)])
	r.data = r.data[n:]
	return n, nil
}
