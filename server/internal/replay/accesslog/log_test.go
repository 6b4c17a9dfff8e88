package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/policy/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// precise is a format whose times are in microseconds.
const precise = `$msec $remote_addr "$request"`

// preciseLine formats a line with a time that is the given number of µs after at.
func preciseLine(micros int64, path string) string {
	now := at + micros
	return fmt.Sprintf("%d.%06d 203.0.113.7 \"GET %s HTTP/1.1\"\n", now/1e6, now%1e6, path)
}

// wholeLine formats a line with a time that is the given number of seconds after at.
func wholeLine(seconds int, path string) string {
	now := time.UnixMicro(at).Add(time.Duration(seconds) * time.Second).UTC()
	return fmt.Sprintf("203.0.113.7 - - [%s] \"GET %s HTTP/1.1\" 200 5 \"-\" \"-\"\n", now.Format("02/Jan/2006:15:04:05 -0700"), path)
}

// written creates a file and returns its path.
func written(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// all returns a log's requests in the order of Run.
func all(t *testing.T, l *Log) (requests []Request) {
	t.Helper()
	err := l.Run(t.Context(), func(batch []Request) error {
		requests = append(requests, batch...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

func opened(t *testing.T, o Options, names ...string) *Log {
	t.Helper()
	l, err := Open(names, strings.NewReader(""), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func paths(requests []Request) (texts []string) {
	for i := range requests {
		texts = append(texts, requests[i].Path)
	}
	return texts
}

func TestWholeSecondsAreSpreadInLineOrder(t *testing.T) {
	text := wholeLine(0, "/a") + wholeLine(0, "/b") + wholeLine(1, "/c") + wholeLine(0, "/d") + wholeLine(0, "/e") + wholeLine(3, "/f")
	l := opened(t, Options{}, written(t, "log", []byte(text)))
	requests := all(t, l)
	for i, want := range []int64{0, 250_000, 500_000, 750_000, 1_000_000, 3_000_000} {
		if got := requests[i].Time - at; got != want {
			t.Errorf("request %d is %d µs after the first, want %d", i, got, want)
		}
	}
	if got := strings.Join(paths(requests), ""); got != "/a/b/d/e/c/f" {
		t.Errorf("order %s", got)
	}
	if s := l.Stats(); !s.Spread || s.Requests != 6 || s.First != at || s.Last != at+3_000_000 {
		t.Errorf("stats %+v", s)
	}
}

func TestTimesWithPartsOfSecondsStay(t *testing.T) {
	text := preciseLine(0, "/a") + preciseLine(1, "/b") + preciseLine(1, "/c") + preciseLine(999_999, "/d")
	l := opened(t, Options{Format: precise}, written(t, "log", []byte(text)))
	requests := all(t, l)
	for i, want := range []int64{0, 1, 1, 999_999} {
		if got := requests[i].Time - at; got != want {
			t.Errorf("request %d is %d µs after the first, want %d", i, got, want)
		}
	}
	if l.Stats().Spread {
		t.Error("said to be spread")
	}
}

func TestFilesAreMergedByTime(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, preciseLine(1, "/b"), preciseLine(4, "/e"), preciseLine(4, "/f"))
	z.Close()
	second := preciseLine(2, "/c") + preciseLine(4, "/g")
	plain := preciseLine(0, "/a") + preciseLine(3, "/d") + preciseLine(5, "/h")
	l, err := Open([]string{"-", written(t, "a.gz", zipped.Bytes()), written(t, "b", []byte(second))}, strings.NewReader(plain), Options{Format: precise})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	requests := all(t, l)
	if got := strings.Join(paths(requests), ""); got != "/a/b/c/d/e/f/g/h" {
		t.Errorf("order %s", got)
	}
	if requests[1].File != 1 || requests[1].Line != 1 || requests[7].Line != 3 || l.Name(0) != "standard input" {
		t.Errorf("places %+v", requests)
	}
}

func TestEmptyFilesAmongOthers(t *testing.T) {
	line := written(t, "log", []byte(preciseLine(0, "/a")))
	for _, empty := range []string{"", "\n\r\n"} {
		l := opened(t, Options{Format: precise}, written(t, "log.1", []byte(empty)), line)
		if err := l.Want([]Need{{Kind: Client}}); err != nil {
			t.Error(err)
		}
		if got := paths(all(t, l)); !slices.Equal(got, []string{"/a"}) {
			t.Errorf("requests %q", got)
		}
		if got := l.Formats()[0]; !strings.HasSuffix(got, ": empty") {
			t.Errorf("format %q", got)
		}
	}
}

func TestLogsWithoutRequestsAreDescribed(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"", "the log has no line"},
		{"foo\nbar\n", "of 2 lines 2 are none; the first: "},
	} {
		l := opened(t, Options{Format: precise}, written(t, "log", []byte(c.text)))
		err := l.Run(t.Context(), func([]Request) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "headgate:") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestTruncatedCompressedFilesAreErrors(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for i := range int64(20_000) {
		fmt.Fprint(z, preciseLine(i*7919%1_000_000, "/a"))
	}
	z.Close()
	l := opened(t, Options{Format: precise}, written(t, "log", zipped.Bytes()[:zipped.Len()-9]))
	err := l.Run(t.Context(), func([]Request) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the compressed file is cut off") {
		t.Error(err)
	}
}

func TestGzipReadsAllMembers(t *testing.T) {
	var parts bytes.Buffer
	for i := range int64(2) {
		z := gzip.NewWriter(&parts)
		fmt.Fprint(z, preciseLine(2*i, "/a"), preciseLine(2*i+1, "/b"))
		z.Close()
	}
	const cut = "the compressed file is cut off, or other bytes follow it: "
	for _, c := range []struct{ trailing, want string }{
		{"", ""},
		{"x", cut},
		{"a line of text that follows\n", cut},
		{"\x00", cut},
		{"\x1f", cut + "unexpected EOF"},
		{"\x1f\x8b\x08", cut + "unexpected EOF"},
	} {
		path := written(t, "log.gz", append(bytes.Clone(parts.Bytes()), c.trailing...))
		l, err := Open([]string{path}, nil, Options{Format: precise})
		got := 0
		if err == nil {
			err = l.Run(t.Context(), func(batch []Request) error { got += len(batch); return nil })
			l.Close()
		}
		if c.want == "" && (err != nil || got != 4) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "line 0")) {
			t.Errorf("with %q at the end: %d requests, %v, want %q", c.trailing, got, err, c.want)
		}
	}
}

func TestReadErrorsNameTheLine(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for range int64(20_000) {
		fmt.Fprint(z, preciseLine(0, "/a"))
	}
	z.Close()
	zipped.WriteString("garbage")
	l := opened(t, Options{Format: precise}, written(t, "log.gz", zipped.Bytes()))
	if err := l.Run(t.Context(), func([]Request) error { return nil }); err == nil || !strings.Contains(err.Error(), "log.gz: after line 20000: the compressed file is cut off, or other bytes follow it") {
		t.Error(err)
	}
}

func TestByteOrderMarksAreSkipped(t *testing.T) {
	for name, text := range map[string]string{
		"combined": wholeLine(0, "/a"),
		"json":     `{"ts":1795356309,"uri":"/a"}`,
	} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		fmt.Fprint(z, "\ufeff"+text)
		z.Close()
		for _, data := range [][]byte{[]byte("\ufeff" + text), zipped.Bytes()} {
			l := opened(t, Options{}, written(t, "log", data))
			if got := strings.Join(paths(all(t, l)), ""); got != "/a" || l.Stats().Bad != 0 {
				t.Errorf("%s: requests %s, %+v", name, got, l.Stats())
			}
		}
	}
	l := opened(t, Options{Format: precise}, written(t, "log", []byte("\ufeff")), written(t, "log", []byte(preciseLine(0, "/a"))))
	if got := paths(all(t, l)); len(got) != 1 {
		t.Errorf("requests %s", got)
	}
}

func TestStandardInputIsReadOnce(t *testing.T) {
	_, err := Open([]string{"-", "-"}, strings.NewReader(preciseLine(0, "/")), Options{Format: precise})
	if err == nil || !strings.Contains(err.Error(), "- occurs twice") {
		t.Error(err)
	}
}

func TestFilesWithEqualTimesKeepTheirOrder(t *testing.T) {
	l := opened(t, Options{Format: precise},
		written(t, "a", []byte(preciseLine(5, "/b"))), written(t, "b", []byte(preciseLine(1, "/a")+preciseLine(5, "/c"))))
	if got := strings.Join(paths(all(t, l)), ""); got != "/a/b/c" {
		t.Errorf("order %s", got)
	}
}

func TestRequestsFarOutOfOrderAreSortedOrCounted(t *testing.T) {
	var text strings.Builder
	const lines = 5*mostReach + 7
	for i := range lines { // each block of 1500 lines, one and a half seconds, is in reverse
		text.WriteString(preciseLine(1000*int64(i/1500*1500+1499-i%1500), "/"))
	}
	text.WriteString(preciseLine(-1, "/late"))
	l := opened(t, Options{Format: precise}, written(t, "log", []byte(text.String())))
	requests := all(t, l)
	if !slices.IsSortedFunc(requests, func(a, b Request) int { return int(a.Time - b.Time) }) || len(requests) != lines+1 {
		t.Errorf("%d requests, not in order", len(requests))
	}
	if late := l.Stats().Late; late != 1 {
		t.Errorf("%d late", late)
	}
}

func TestManyRequestsOfOneSecond(t *testing.T) {
	const lines = maxSecond/2 + 10
	l := opened(t, Options{}, written(t, "log", []byte(strings.Repeat(wholeLine(0, "/"), lines)+wholeLine(1, "/"))))
	requests := all(t, l)
	if len(requests) != lines+1 || requests[1].Time-at != second/lines || requests[lines-1].Time >= at+second || requests[lines].Time != at+second {
		t.Errorf("%d requests, the second one after %d µs", len(requests), requests[1].Time-at)
	}
}

func TestBadLinesAreCountedAndSkipped(t *testing.T) {
	text := wholeLine(0, "/a") + "garbage\n\n" + wholeLine(1, "/b") + strings.Repeat("x", 3*block) + "\n" + wholeLine(2, "/c") + "\x00\xff\n" + strings.TrimSuffix(wholeLine(3, "/d"), "\n")
	l := opened(t, Options{}, written(t, "log", []byte(text)))
	if got := strings.Join(paths(all(t, l)), ""); got != "/a/b/c/d" {
		t.Errorf("requests %s", got)
	}
	s := l.Stats()
	if s.Bad != 3 || s.Lines != 7 || len(s.FirstBad) != 3 || s.FirstBad[0].Line != 2 || s.FirstBad[1].Line != 5 || s.FirstBad[1].Reason != "longer than 65536 bytes" {
		t.Errorf("stats %+v", s)
	}
}

func TestMissingFieldsSayHowToLogThem(t *testing.T) {
	path := written(t, "log", []byte(wholeLine(0, "/a")))
	for _, c := range []struct {
		need Need
		want string
	}{
		{Need{Kind: Head, Name: "X-User"}, "nginx's $http_x_user or Apache's %{X-User}i"},
		{Need{Kind: Cookie, Name: "sid"}, "nginx's $cookie_sid or Apache's %{sid}C"},
		{Need{Kind: Host}, "or say which host all requests were for, with --host"},
		{Need{Kind: Size}, "$content_length"},
	} {
		c.need.By = "route 2 (p.yaml:7)"
		l := opened(t, Options{}, path)
		err := l.Want([]Need{c.need})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "route 2 (p.yaml:7) needs the "+string(c.need.Kind)) {
			t.Errorf("%v: %v", c.need, err)
		}
	}
	l := opened(t, Options{Host: "example.com"}, path)
	if err := l.Want([]Need{{Kind: Host}, {Kind: Client}, {Kind: Method}, {Kind: Query}, {Kind: Head, Name: "user-agent"}}); err != nil {
		t.Error(err)
	}
	if requests := all(t, l); requests[0].Host != "example.com" {
		t.Errorf("host %q", requests[0].Host)
	}
}

func TestFieldsMissingInEveryLineAreErrors(t *testing.T) {
	with, without := `{"ts":1795356309,"uri":"/","ip":"203.0.113.7"}`, `{"ts":1795356309,"uri":"/"}`
	client := Need{Kind: Client, By: "route 0"}
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{without}, "(lines of JSON: time=ts target=uri) does not have; log it with"},
		{[]string{without + "\n" + with}, ""},
		{[]string{without, with, ""}, ""}, // another file contains the field
	} {
		var files []string
		for _, text := range c.files {
			files = append(files, written(t, "log", []byte(text)))
		}
		l := opened(t, Options{}, files...)
		err := l.Want([]Need{client})
		if err == nil {
			err = l.Run(t.Context(), func([]Request) error { return nil })
		}
		if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "route 0 needs the client")) {
			t.Errorf("%q: %v, want %q", c.files, err, c.want)
		}
	}
}

func TestRedactedHeaderStopsReading(t *testing.T) {
	line := `{"ts":1795356309,"request":{"client_ip":"203.0.113.7","method":"GET","uri":"/","headers":{"Cookie":["REDACTED"]}}}`
	l := opened(t, Options{}, written(t, "log", []byte(line)))
	if err := l.Want([]Need{{Kind: Cookie, Name: "sid"}}); err != nil {
		t.Fatal(err)
	}
	err := l.Run(t.Context(), func([]Request) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 1: the header is REDACTED; accepted: logs of Caddy with log_credentials") {
		t.Error(err)
	}
}

func TestErrorsOfFilesAndCallersStopReading(t *testing.T) {
	if _, err := Open([]string{filepath.Join(t.TempDir(), "none")}, nil, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(make([]string, MaxFiles+1), nil, Options{}); err == nil || !strings.Contains(err.Error(), "at most 256 files") {
		t.Error(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for i := range 50_000 {
		fmt.Fprint(z, preciseLine(int64(i)*7919, fmt.Sprint("/", i*i)))
	}
	z.Close()
	l := opened(t, Options{Format: precise}, written(t, "cut.gz", zipped.Bytes()[:zipped.Len()/2]))
	if err := l.Run(t.Context(), func([]Request) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	stop := errors.New("stop")
	l = opened(t, Options{Format: precise}, written(t, "whole.gz", zipped.Bytes()))
	if err := l.Run(t.Context(), func([]Request) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestUntrustedProxiesAreNoted (regression: bug 189) checks that requests are counted whose header names another client
// than their peer, unless a need trusts the peer.
func TestUntrustedProxiesAreNoted(t *testing.T) {
	line := `10.0.0.1 - - [22/Nov/2026:14:05:09 +0000] "GET /a HTTP/1.1" 200 1 "-" "curl" "203.0.113.7"` + "\n"
	trusted := route.Proxies{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct {
		needs   []Need
		proxied int64
		peer    string
	}{
		{[]Need{{Kind: Client}}, 3, "10.0.0.1"},
		{[]Need{{Kind: Client, Proxies: trusted}}, 0, ""},
		{[]Need{{Kind: Method}}, 0, ""},
	} {
		l := opened(t, Options{}, written(t, "log", []byte(strings.Repeat(line, 3))))
		if err := l.Want(c.needs); err != nil {
			t.Fatal(err)
		}
		all(t, l)
		if s := l.Stats(); s.Proxied != c.proxied || s.Peer != c.peer {
			t.Errorf("%+v: %d proxied by %q, want %d by %q", c.needs, s.Proxied, s.Peer, c.proxied, c.peer)
		}
	}
}
