package policies

import (
	"testing"
	"time"
)

// TestPausing checks that the pause function rests after each span of work, and that the next span starts after the
// rest.
func TestPausing(t *testing.T) {
	now, rests := time.Unix(0, 0), 0
	pause := pausing(func() time.Time { return now }, func(d time.Duration) {
		now = now.Add(d)
		rests++
	})
	for range 100 { // workSpan/10 each
		now = now.Add(workSpan / 10)
		pause()
	}
	if rests != 10 {
		t.Errorf("%d rests in 10 spans of work", rests)
	}
}
