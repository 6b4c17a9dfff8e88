package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/policy"
)

// TestAcceptedLoss checks that a line is logged when an operator accepts a loss, and none when the limits recover.
func TestAcceptedLoss(t *testing.T) {
	var log bytes.Buffer
	l, now := losses{logger: slog.New(slog.NewTextHandler(&log, nil))}, time.Now()
	for second := range 100 {
		stats := fallback.Stats{Losses: 1}
		if second < 10 {
			stats.Lost = now
		}
		l.look(now.Add(time.Duration(second)*time.Second), stats, func(lost time.Time) time.Time { return lost.Add(time.Minute) })
	}
	if strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), `msg="an operator has accepted the data loss: answers are exact again"`) {
		t.Error(log.String())
	}
}

// TestLossLogsTwoLines checks that one line is logged when a loss is detected, and one when every limit decided by
// shares has recovered, including overrides. Another loss in between restarts the recovery.
func TestLossLogsTwoLines(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  api:   {algorithm: fixed-window, limit: 9, window: 1m, failure: local}
  plan:  {algorithm: token-bucket, rate: 1/s, failure: deny}
  slow:  {algorithm: fixed-window, limit: 9, window: 1d, failure: allow}
overrides:
  - {policy: api, key: vip, set: {window: 2m}}
  - {policy: plan, key: bad, deny: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := losses{logger: slog.New(slog.NewTextHandler(&log, nil))}
	for second := range 600 {
		var stats fallback.Stats
		if second >= 10 {
			stats.Losses, stats.Lost = 1, now.Add(10*time.Second)
		}
		if second >= 70 {
			stats.Losses, stats.Lost = 2, now.Add(70*time.Second)
		}
		l.look(now.Add(time.Duration(second)*time.Second), stats, func(lost time.Time) time.Time { return slowest(config.Policies, lost) })
		if doubted := second >= 10 && second <= 190; l.doubted.Load() != doubted {
			t.Fatalf("after %d s: doubted %t", second, !doubted)
		}
	}
	var lines []string
	for line := range strings.Lines(log.String()) {
		_, text, _ := strings.Cut(line, " level=")
		lines = append(lines, strings.TrimSpace(text))
	}
	const lost = `ERROR msg="store data lost: until the limits have recovered, answers are a fallback, and remembered keys keep only the units that they had, except with failure mode allow" losses=`
	want := []string{
		lost + "1 until=2026-01-01T00:02:10.000Z", lost + "2 until=2026-01-01T00:03:10.000Z",
		`INFO msg="limits have recovered from the data loss: answers are exact again"`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestLossBeforeTheStart checks that a server logs a loss that another server noticed before it started, unless the
// limits have recovered (regression: bug 80).
func TestLossBeforeTheStart(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		ago   time.Duration
		lines int
	}{{30 * time.Second, 2}, {2 * time.Minute, 0}} {
		var log bytes.Buffer
		l := losses{logger: slog.New(slog.NewTextHandler(&log, nil))}
		for second := range 100 {
			l.look(now.Add(time.Duration(second)*time.Second), fallback.Stats{Lost: now.Add(-c.ago)}, func(lost time.Time) time.Time { return lost.Add(time.Minute) })
		}
		if got := strings.Count(log.String(), "\n"); got != c.lines {
			t.Errorf("%v ago: %s", c.ago, log.String())
		}
	}
}

// TestLossUnderInlineLimits checks that the limits of requests without a policy count too (regression: bug 82).
func TestLossUnderInlineLimits(t *testing.T) {
	var log bytes.Buffer
	now := time.Now()
	l := losses{logger: slog.New(slog.NewTextHandler(&log, nil))}
	for second := range 100 {
		stats := fallback.Stats{Losses: 1, Lost: now, DoubtedUntil: now.Add(time.Duration(min(second, 30)+20) * time.Second)}
		l.look(now.Add(time.Duration(second)*time.Second), stats, func(lost time.Time) time.Time { return lost })
		if doubted := second <= 50; l.doubted.Load() != doubted {
			t.Fatalf("after %d s: doubted %t", second, !doubted)
		}
	}
	if strings.Count(log.String(), "\n") != 2 {
		t.Error(log.String())
	}
}
