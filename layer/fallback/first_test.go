package fallback_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

var (
	firstIncluded = rule.SlidingLog(rule.PerMinute(40), rule.Named("included"))
	firstCredits  = rule.SlidingLog(rule.PerHour(400), rule.Named("credits"))
)

// spend returns an operation that charges the units to the first limit that has enough units left, of two limits.
func spend(units int64) engine.Op {
	return engine.Op{Kind: engine.OpAllow, Space: "s", Key: "k", Charges: []engine.Charge{
		{Limit: firstIncluded, Cost: units, Choice: 1}, {Limit: firstCredits, Cost: units, Choice: 2},
	}}
}

// In an outage the shares choose. A cost that exceeds every share is denied with a retry-after of a second, or of
// engine.Never if it also exceeds every limit's capacity.
func TestFirstInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		s.set(headgate.ErrStoreUnavailable, false)
		for i, want := range []uint8{1, 2, 1, 2} {
			r := do(t, all[0].store, spend([]int64{15, 15, 5, 100}[i]))
			if r.Err != nil || !r.Allowed || r.Choice != want || r.Promise.Mode != engine.Fallback {
				t.Fatalf("call %d: %+v", i, r)
			}
			if !r.Of(int(2-want)).Unchosen || r.Of(int(want-1)).Unchosen {
				t.Errorf("call %d: choice %d: %+v", i, want, r)
			}
		}
		if r := do(t, all[0].store, spend(300)); r.Err != nil || r.Allowed || r.Binds().RetryAfter != time.Second {
			t.Errorf("more than both shares have: %+v", r)
		}
		if r := do(t, all[0].store, spend(500)); r.Err != nil || r.Allowed || r.Binds().RetryAfter != engine.Never {
			t.Errorf("more than both limits have: %+v", r)
		}
	})
}

// While the store is in doubt, the memory chooses and the store gets the same choice, so the charge always matches the
// answer.
func TestFirstInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		all := s.start(t, 2, fallback.Config{})
		defer end(t, all)
		if r := do(t, all[0].store, spend(25)); r.Err != nil || r.Choice != 1 {
			t.Fatalf("%+v", r)
		}
		s.lose(t)
		time.Sleep(2500 * time.Millisecond)
		r := do(t, all[0].store, spend(10)) // 15 of the included units are remembered
		if r.Err != nil || !r.Allowed || r.Choice != 1 || r.Promise.Mode != engine.Fallback {
			t.Fatalf("%+v", r)
		}
		r = do(t, all[0].store, spend(15)) // about 7 are left, in the store 30
		if r.Err != nil || !r.Allowed || r.Choice != 2 {
			t.Fatalf("%+v", r)
		}
		for i, want := range []int64{30, 385} {
			peek := engine.Single(engine.OpPeek, "k", []engine.Limit{firstIncluded, firstCredits}[i], 0)
			peek.Space = "s"
			if left := do(t, s.now, peek).Binds().Remaining; left != want {
				t.Errorf("limit %d has %d left in the store, want %d", i, left, want)
			}
		}
	})
}
