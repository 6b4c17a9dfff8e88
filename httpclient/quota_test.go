package httpclient

import (
	"testing"
	"time"
)

// After a reset the whole quota is available, minus the requests still in flight, because the server may decide them
// after the reset. One request may always be sent, because the responses to the requests in flight can take a long
// time.
func TestResetLeavesRoomForRequestsInFlight(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct{ inFlight, want int64 }{{0, 10}, {4, 6}, {9, 1}, {20, 1}} {
		q := quota{most: 9, size: 10, reset: now, span: time.Minute}
		q.wait(now, c.inFlight)
		if q.budget != c.want || q.reset != now.Add(time.Minute) {
			t.Errorf("with %d in flight: budget %d until %s, want %d for a minute", c.inFlight, q.budget, q.reset, c.want)
		}
	}
}
