package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// hostile is text that a client could get into a log.
const hostile = "<script>alert(1)</script>\"'`|{{.}}](javascript:x)\x1b[31m\u202e<img src=x onerror=y>\n# "

var start = time.Date(2026, time.November, 22, 14, 0, 0, 0, time.UTC).UnixMicro()

func traffic() simulate.Traffic {
	var t simulate.Traffic
	for i := range int64(500) {
		t.Add(start+i*60_000_000, i%3 == 0)
	}
	return t.Shown()
}

func heat() simulate.Heat {
	h := simulate.NewHeat(time.UTC)
	h.Add(start, true)
	return h
}

// pages returns a report of each kind. All text from the log in them is hostile.
func pages() map[string]*Page {
	log := &Log{
		Formats: []string{hostile},
		Stats:   accesslog.Stats{Requests: 1_234_567, Bad: 1, Lines: 1_234_568, Late: 2, Spread: true, First: start, Last: start, FirstBad: []accesslog.BadLine{{File: hostile, Line: 7, Reason: hostile}}},
	}
	bars := []simulate.Bar{{From: 1, To: 1, Keys: 1_000_000}, {From: 2, To: 3, Keys: 1, Denied: 1}}
	profile := suggest.KeyProfile{Key: hostile, Requests: 9, Why: hostile}
	return map[string]*Page{
		"suggest": {Title: hostile, Log: log, Config: hostile, Suggest: &suggest.Result{
			Key: []string{"header X-User"}, Requests: 9, Keys: 2, Percentiles: []suggest.Percentiles{{Window: "1 second"}}, Outliers: []suggest.KeyProfile{profile}, Shared: []suggest.KeyProfile{profile},
			Suggestions: []suggest.Suggestion{{
				Policy: "client", Limit: "1/s burst 9", Algorithm: "token-bucket", Rate: "1/s", Burst: 9, Why: []string{hostile}, Overrides: []suggest.Override{{Key: hostile, Limit: "2/s", Why: "is shared"}},
				Compared: []suggest.Compared{{Limit: "1/s burst 9", Outliers: 0.5, Chosen: true}},
			}},
			Protections: []string{"kept"}, Histogram: bars, Traffic: traffic(), Heat: heat(),
		}},
		"result": {Title: "t", Log: log, Result: &simulate.Result{
			File: "p.yaml", Requests: 9, Denied: 3, Failed: 1, FirstError: hostile, Traffic: traffic(), Heat: heat(), Histogram: bars,
			Routes: []simulate.RouteReport{{Match: hostile, Charges: []policy.RouteCharge{{Key: []string{hostile}}}}}, Longest: &simulate.Stretch{Key: hostile, Denied: 2},
			Policies: []simulate.PolicyReport{{Name: "p", Denied: 3, Limits: []string{"1/s"}, Alternatives: []simulate.Alternative{{Limit: "1/s", Algorithm: "sliding-log"}}}},
			Top:      []simulate.KeyReport{{Key: hostile, By: []simulate.PolicyCount{{Policy: "p", Count: 3}}, Patterns: []simulate.Pattern{{Pattern: hostile, Count: 3}}}},
		}},
		"comparison": {Title: "t", Log: log, Comparison: &simulate.Comparison{
			Old: hostile, New: hostile, Lost: 1, Rekeyed: 1, Won: 1, LostOver: traffic(), WonOver: traffic(),
			Losers: []simulate.KeyChange{{Key: hostile}}, Winners: []simulate.KeyChange{{Key: hostile}},
			First: []simulate.Change{{File: hostile, Method: hostile, Path: hostile, Key: hostile, OldKey: hostile, Old: hostile, New: hostile}},
		}},
	}
}

// elements are the only HTML elements that reports contain.
var elements = strings.Fields("html head meta title style body main header h1 h2 p ul li section div b span table tbody tr th td code pre i footer svg rect text line br")

func TestHTMLEscapesTextFromTheLog(t *testing.T) {
	for name, p := range pages() {
		var b bytes.Buffer
		if err := HTML(&b, p); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), `content="default-src &#39;none&#39;`) && !strings.Contains(b.String(), `content="default-src 'none'`) {
			t.Errorf("%s has no policy of contents", name)
		}
		root, err := html.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			seen++
			if !slices.Contains(elements, n.Data) {
				t.Errorf("%s has <%s>", name, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" || strings.Contains(a.Val, "url(") {
					t.Errorf("%s has %s=%q", name, a.Key, a.Val)
				}
			}
		}
		if seen < 60 {
			t.Errorf("%s has %d elements", name, seen)
		}
	}
}

func TestTextIsSafeForATerminal(t *testing.T) {
	all := pages()
	var b bytes.Buffer
	LogText(&b, all["suggest"].Log)
	SuggestionText(&b, all["suggest"].Suggest)
	ResultText(&b, all["result"].Result)
	ComparisonText(&b, all["comparison"].Comparison)
	if text := b.String(); strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "1 234 567 from 2026-11-22 14:00:00") {
		t.Errorf("%q", text)
	}
}

func TestNumbersReadWell(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{format.Grouped(0), "0"},
		{format.Grouped(-1234567), "-1 234 567"},
		{format.Grouped(999), "999"},
		{format.Counted(1, "key"), "1 key"},
		{format.Counted(2000, "key"), "2 000 keys"},
		{percent(0, 0), "0 %"},
		{percent(1, 1_000_000), "below 0.01 %"},
		{percent(999_999, 1_000_000), "above 99.99 %"},
		{percent(1, 3), "33.3 %"},
		{percent(5, 5), "100 %"},
		{percent(1, 200), "0.50 %"},
		{span(1500), "1 ms"},
		{span(2_200_000), "2.2 s"},
		{span(3_661_000_000), "1 h 1 min"},
		{span(86_400_000_000), "1 d"},
		{size(100), "100 B"},
		{size(5000), "4 KiB"},
		{size(42 << 20), "42 MiB"},
		{size(11 << 30), "11 GiB"},
		{power(512), "512+"},
		{power(4096), "4k+"},
		{quoted("10.0.0.1"), "10.0.0.1"},
		{quoted("a b"), `"a b"`},
		{quoted(""), `""`},
		{quoted("\x1b"), `"\x1b"`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
