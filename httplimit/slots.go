package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/internal/queue"
)

// slots holds the requests that wait for their pacer slots.
type slots struct {
	queue.Slots[slotName, *core.Charged]
}

// slotName identifies requests that can take over each other's slots.
type slotName struct {
	policy *headgate.Policy
	key    string
	units  int64
}

// undoneAtOnce is the maximum number of slots that one call gives back when many clients disconnect at once. The call
// must finish within settleWithin.
const undoneAtOnce = 100

// wait returns at the time of the request's slot, with the charge of that slot. If the client disconnects, wait
// gives the slot back.
func (s *slots) wait(ctx context.Context, name slotName, delay time.Duration, charged *core.Charged) (*core.Charged, error) {
	waiter := s.Take(name, queue.Slot[*core.Charged]{At: time.Now().Add(delay), Units: 1, Reservation: charged})
	return s.Wait(ctx, nil, name, waiter, undoneAtOnce, func(left []*core.Charged) {
		own, cancel := settling(ctx)
		defer cancel()
		for _, c := range left {
			_ = c.Settle(own, 0) // if this fails, the units stay charged
		}
	})
}

// sleep waits until the request's slot in a decider's pacer. If the client disconnects, sleep gives the charge back,
// except for units that later slots depend on.
func (c *Admission) sleep(r *http.Request) error {
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
