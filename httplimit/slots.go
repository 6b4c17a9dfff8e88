package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/queue"
)

// slots are the requests that wait for the slot that a pacer has given them.
type slots struct {
	queue.Slots[slotName, *headgate.Charged]
}

// slotName is what requests have in common that can use each other's slots.
type slotName struct {
	policy *headgate.Policy
	key    string
	units  int64
}

// undoneAtOnce is how many requests that have left together give their slots back within
// settleWithin.
const undoneAtOnce = 100

// wait returns in the slot of a request, with the charge that belongs to it. A client that
// leaves gives a slot back.
func (s *slots) wait(ctx context.Context, name slotName, delay time.Duration, charged *headgate.Charged) (*headgate.Charged, error) {
	seat := s.Take(name, time.Now().Add(delay), charged)
	return s.Wait(ctx, nil, name, seat, undoneAtOnce, func(left []*headgate.Charged) {
		own, cancel := settling(ctx)
		defer cancel()
		for _, c := range left {
			_ = c.Settle(own, 0) // where that fails, the units stay spent
		}
	})
}

// sleep waits for the slot that a decider's pacer has given. A client that leaves gives back
// what its request was charged, unless others have slots behind it.
func (c *Charge) sleep(r *http.Request) error {
	timer := time.NewTimer(c.Decision.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.Context().Done():
	}
	if c.settle != nil {
		own, cancel := settling(r.Context())
		defer cancel()
		_ = c.settle(own, 0)
	}
	return r.Context().Err()
}
