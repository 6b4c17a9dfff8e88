package metrics

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// TestKeysAreEstimated checks that the estimate of the last minute's keys is within five standard errors, that repeated
// keys and peeks add nothing, and that a minute without requests has no keys.
func TestKeysAreEstimated(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for _, n := range []int{0, 1, 10, 1000, 4000, 6000, 100_000} {
		var k keys
		for i := range n {
			for _, kind := range []engine.Kind{engine.OpAllow, engine.OpAllow} {
				k.observe(&service.Observed{Requests: []decide.Request{{Kind: kind, Item: decide.Item{Key: fmt.Sprint(i)}}}, Responses: make([]decide.Response, 1), Ended: start})
			}
		}
		k.observe(&service.Observed{Requests: []decide.Request{{Kind: engine.OpPeek, Item: decide.Item{Key: "peeked"}}}, Responses: make([]decide.Response, 1), Ended: start})
		if got := k.lastMinute(start); got != 0 {
			t.Errorf("%d keys: %v in the minute before", n, got)
		}
		if got := k.lastMinute(start.Add(time.Minute)); math.Abs(got-float64(n)) > 5*0.023*float64(n) {
			t.Errorf("%d keys: the estimate is %v", n, got)
		}
		if got := k.lastMinute(start.Add(3 * time.Minute)); got != 0 {
			t.Errorf("%d keys: %v two minutes later", n, got)
		}
	}
}
