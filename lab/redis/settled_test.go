package redis

import (
	"context"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
)

// TestSettledAllowOnRedis checks that the reservation of an allow with Settled gives its charge back on each limit
// exactly once.
func TestSettledAllowOnRedis(t *testing.T) {
	limiters, _ := twoProcesses(t, redistest.Redis)
	ctx := context.Background()
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerHour(3)), rule.FixedWindow(rule.PerHour(3)),
		rule.SlidingLog(rule.PerHour(3)), rule.Pacer(rule.PerHour(1), rule.MaxQueue(2)),
	}
	op := engine.Op{Kind: engine.OpAllow, Space: "settled", Key: "k", Hints: engine.Hints{Settled: true}}
	for i, limit := range limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit.WithPosition(i + 1), Cost: 1})
	}
	for i, l := range limiters {
		if r := l.Core().Decide(ctx, op)[0]; r.Err != nil || !r.Allowed || l.Core().Reserved(&op, &r) == nil {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	peek := op
	peek.Kind, peek.Hints.Settled = engine.OpPeek, false
	for round := range 3 {
		last := limiters[0].Core().Decide(ctx, op)[0]
		if last.Err != nil || !last.Allowed || last.Delay == 0 {
			t.Fatalf("round %d: %+v", round, last)
		}
		if over := limiters[1].Core().Decide(ctx, op)[0]; over.Err != nil || over.Allowed || limiters[1].Core().Reserved(&op, &over) != nil {
			t.Errorf("round %d, beyond the limits: %+v", round, over)
		}
		text := limiters[0].Core().Reserved(&op, &last).Held().String()
		own, err := limiters[0].Reservation(text)
		if err != nil {
			t.Fatal(err)
		}
		other, err := limiters[1].Reservation(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, held := range []*headgate.Reservation{own, other} { // the second must not change anything
			if err := held.Cancel(ctx); err != nil {
				t.Fatal(err)
			}
			d := limiters[1].Core().Decide(ctx, peek)[0]
			for i := range 3 {
				if d.Of(i).Remaining != 1 {
					t.Errorf("round %d: limit %d has %d left, want 1", round, i, d.Of(i).Remaining)
				}
			}
			if d.Delay == 0 || d.Delay > last.Delay {
				t.Errorf("round %d: the next one waits %v, the cancelled one %v", round, d.Delay, last.Delay)
			}
		}
	}
}
