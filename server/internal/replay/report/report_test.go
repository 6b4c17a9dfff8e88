package report

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// hostile is text that a client could get into a log.
const hostile = "<script>alert(1)</script>\"'`|{{.}}](javascript:x)\x1b[31m\u202e<img src=x onerror=y>\n# "

var start = time.Date(2026, time.November, 22, 14, 0, 0, 0, time.UTC).UnixMicro()

// results returns a result of each kind. All text from the log in them is hostile.
func results() []Result {
	log := &Log{
		Formats: []string{hostile},
		Stats:   accesslog.Stats{Requests: 1_234_567, Bad: 1, Lines: 1_234_568, Late: 2, Spread: true, First: start, Last: start, FirstBad: []accesslog.BadLine{{File: hostile, Line: 7, Reason: hostile}}},
	}
	profile := suggest.KeyProfile{Key: hostile, Requests: 9, Why: hostile}
	return []Result{
		{Log: log, Suggest: &suggest.Result{
			Key: []string{"header X-User"}, Requests: 9, Keys: 2, Percentiles: []suggest.Percentiles{{Window: "1 second"}}, Outliers: []suggest.KeyProfile{profile}, Busiest: []suggest.KeyProfile{profile}, Notes: []string{hostile},
			Suggestion: suggest.Suggestion{Policy: "client", Limit: "1/s burst 9", Rate: "1/s", Burst: 9, Why: []string{hostile}},
		}},
		{Log: log, Result: &simulate.Result{
			File: "p.yaml", Requests: 9, Denied: 3, Failed: 1, FirstError: hostile,
			Routes:   []simulate.RouteReport{{Match: hostile, Charges: []policy.RouteCharge{{Key: []string{hostile}}}}},
			Policies: []simulate.PolicyReport{{Name: "p", Denied: 3, Limits: []string{"1/s"}}},
			Top:      []simulate.KeyReport{{Key: hostile, Agent: hostile, By: []simulate.PolicyCount{{Policy: "p", Count: 3}}}},
		}},
		{Log: log, Comparison: &simulate.Comparison{
			Old: hostile, New: hostile, Lost: 1, Rekeyed: 1, Won: 1,
			Losers: []simulate.KeyChange{{Key: hostile}}, Winners: []simulate.KeyChange{{Key: hostile}},
			First: []simulate.Change{{File: hostile, Method: hostile, Path: hostile, Key: hostile, OldKey: hostile, Old: hostile, New: hostile}},
		}},
	}
}

func TestTextIsSafeForATerminal(t *testing.T) {
	var b strings.Builder
	for _, r := range results() {
		Text(&b, &r)
	}
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
