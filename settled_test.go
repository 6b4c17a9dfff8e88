package headgate_test

import (
	"context"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// TestSettledAllow: an allow that is to be settled is decided as any other, a denied one has
// no reservation, and a cancel gives back each limit's units, once.
func TestSettledAllow(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	ctx := context.Background()
	limits := []headgate.Limit{
		headgate.TokenBucket(headgate.PerHour(3)), headgate.FixedWindow(headgate.PerHour(3)), headgate.SlidingLog(headgate.PerHour(3)),
		headgate.Pacer(headgate.PerHour(1), headgate.MaxQueue(2)),
	}
	p := limiter.Policy("all", limits...)
	op := engine.Op{Kind: engine.OpAllow, Space: "policy:all", Key: "k", Settled: true}
	for i, limit := range limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit.Placed(i + 1), Cost: 1})
	}
	ask := func() headgate.Result { return limiter.Do(ctx, []engine.Op{op}, nil)[0] }
	first, _, third := ask(), ask(), ask()
	if !first.Decision.Allowed || !third.Decision.Allowed || third.Decision.Delay == 0 || third.Reservation == nil {
		t.Fatalf("%+v %+v", first, third)
	}
	if fourth := ask(); fourth.Decision.Allowed || fourth.Reservation != nil {
		t.Errorf("a denied one: %+v", fourth)
	}
	for range 2 { // the second time changes nothing
		if err := third.Reservation.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
		d, err := p.Peek(ctx, "k", 1)
		if err != nil || !d.Allowed || d.Limits[0].Remaining != 1 || d.Limits[1].Remaining != 1 || d.Limits[2].Remaining != 1 || d.Delay > third.Decision.Delay {
			t.Errorf("after the cancel: %+v %v", d, err)
		}
	}
}
