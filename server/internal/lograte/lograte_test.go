package lograte_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/lograte"
)

// TestLimit checks that at most two lines per second are allowed, and that the next line reports how many were
// dropped.
func TestLimit(t *testing.T) {
	l := lograte.Limit{Lines: 2, Per: time.Second}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		at   time.Duration
		left int64
		ok   bool
	}{
		{0, 0, true}, {0, 0, true}, {0, 0, false}, {time.Second - 1, 0, false}, {time.Second, 2, true}, {time.Second, 0, true}, {time.Second, 0, false}, {5 * time.Second, 1, true},
	} {
		if left, ok := l.Allow(start.Add(c.at)); left != c.left || ok != c.ok {
			t.Errorf("after %v: %d %t, want %d %t", c.at, left, ok, c.left, c.ok)
		}
	}
}
