package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/requestid"
)

// logOf calls the function run in a synctest bubble, and returns the logged lines.
func logOf(t *testing.T, run func(o *outage)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var log bytes.Buffer
		run(newOutage(slog.New(slog.NewTextHandler(&log, nil))))
		for line := range strings.Lines(log.String()) {
			_, text, _ := strings.Cut(line, " level=")
			lines = append(lines, strings.TrimSpace(text))
		}
	})
	return lines
}

var errAway = fmt.Errorf("%w: no connection", engine.ErrStoreUnavailable)

// TestOutageLogsTwoLines checks that one line is logged when the store fails and one when it answers again, however
// many decisions fail in between.
func TestOutageLogsTwoLines(t *testing.T) {
	lines := logOf(t, func(o *outage) {
		for range 2 {
			for range 1000 {
				o.Failed(requestid.With(t.Context(), "r1"), errAway)
				time.Sleep(2500 * time.Microsecond)
			}
			for range 1000 {
				o.Answered()
				time.Sleep(2500 * time.Microsecond)
			}
		}
	})
	const away, back = `ERROR msg="store away: failure modes decide" class=unsent error="headgate: store unavailable: no connection" request_id=r1`,
		`INFO msg="store back" away_ms=2500 unknown=1000`
	if got, want := strings.Join(lines, "\n"), strings.Join([]string{away, back, away, back}, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestUnreadableKeyIsNotAnOutage checks that an error of a store that is there, such as on a key that it cannot read, is
// logged once per minute, and begins no outage (regression: bug 211).
func TestUnreadableKeyIsNotAnOutage(t *testing.T) {
	lines := logOf(t, func(o *outage) {
		for range 10 {
			o.Failed(t.Context(), &redisstore.Error{Class: redisstore.Garbage})
			if o.Away() {
				t.Error("the store is away")
			}
			time.Sleep(time.Second)
		}
	})
	if len(lines) != 1 || !strings.HasPrefix(lines[0], `ERROR msg="store error: failure modes decide"`) || !strings.Contains(lines[0], "class=garbage") {
		t.Errorf("%q", lines)
	}
}

// TestSlowAnswerIsNotAnOutage checks that late answers are logged at level WARN once per minute, and count as an outage
// only if no answer arrives in time for a second.
func TestSlowAnswerIsNotAnOutage(t *testing.T) {
	late := fmt.Errorf("late: %w", context.DeadlineExceeded)
	var state metrics.Outage
	lines := logOf(t, func(o *outage) {
		for range 30 { // a late answer every 3 s, with 10 operations
			for range 10 {
				o.Failed(t.Context(), late)
			}
			o.Answered()
			time.Sleep(3 * time.Second)
		}
		state = o.state()
	})
	const slow = `WARN msg="store slow: failure modes decide" error="late: context deadline exceeded" unknown=`
	if got, want := strings.Join(lines, "\n"), slow+"1\n"+slow+"200"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := (metrics.Outage{Unknown: 300}); state != want {
		t.Errorf("the state is %+v, want %+v", state, want)
	}
	lines = logOf(t, func(o *outage) {
		for range 3 {
			o.Failed(t.Context(), late)
			time.Sleep(recoveryTime)
		}
		o.Answered()
	})
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "ERROR") || !strings.Contains(lines[2], "away_ms=3000 unknown=3") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// TestFlappingStoreIsOneOutage checks that after the first outage, further failures of a store that alternately fails
// and answers count as a single outage, until it answers without failures.
func TestFlappingStoreIsOneOutage(t *testing.T) {
	lines := logOf(t, func(o *outage) {
		for range 10_000 {
			o.Failed(t.Context(), errAway)
			time.Sleep(time.Millisecond)
			o.Answered()
		}
		time.Sleep(recoveryTime)
		o.Answered()
	})
	// The first outage has two lines of its own, because it ends before the store counts as flapping.
	if len(lines) != 4 || !strings.Contains(lines[3], "away_ms=10999 unknown=9999") {
		t.Errorf("%d lines for 10000 failures, want 4:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
