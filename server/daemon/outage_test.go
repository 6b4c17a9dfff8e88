package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// watch runs the test in a bubble and returns the lines that were logged.
func watch(t *testing.T, run func(o *outage)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var log bytes.Buffer
		run(&outage{logger: slog.New(slog.NewTextHandler(&log, nil))})
		for line := range strings.Lines(log.String()) {
			_, text, _ := strings.Cut(line, " level=")
			lines = append(lines, strings.TrimSpace(text))
		}
	})
	return lines
}

var errAway = errors.New("no connection")

// TestOutageIsTwoLines: one line when the store goes away, one when it returns,
// however many decisions fail in between.
func TestOutageIsTwoLines(t *testing.T) {
	lines := watch(t, func(o *outage) {
		for range 2 {
			for range 1000 {
				o.Failed(errAway)
				time.Sleep(2500 * time.Microsecond)
			}
			for range 1000 {
				o.Answered()
				time.Sleep(2500 * time.Microsecond)
			}
		}
	})
	const away, back = `ERROR msg="store away: decisions are not known" error="no connection"`, `INFO msg="store back" away=2.5s unknown=1000`
	if got, want := strings.Join(lines, "\n"), strings.Join([]string{away, back, away, back}, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFlappingStoreIsOneOutage: a store that fails and answers in turns is one
// outage, which ends with the last failure.
func TestFlappingStoreIsOneOutage(t *testing.T) {
	lines := watch(t, func(o *outage) {
		for range 10_000 {
			o.Failed(errAway)
			time.Sleep(time.Millisecond)
			o.Answered()
		}
		time.Sleep(calm)
		o.Answered()
	})
	// The first return is logged before the store is known to flap.
	if len(lines) != 4 || !strings.Contains(lines[3], "away=10.999s unknown=9999") {
		t.Errorf("%d lines for 10000 failures, want 4:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
