package steps

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/memstore"
)

// passed is the number of units that a caller uses, and when: at the slot of its reservation.
type passed struct {
	at, units int64
	handle    *engine.Reservation
}

// TestSlotsBound draws versions of a bucket whose callers reserve, wait for their slots, and commit a part or cancel.
// Counted at the slots, no span has more units than the largest burst and the fastest refill (rule 10). Before the rate
// was kept while callers wait, 200 units of 100 passed at one slot, and 150 after a commit of a part before it (regression: bug 85).
func TestSlotsBound(t *testing.T) {
	for name, versions := range map[string]func(r *rand.Rand) engine.Limit{
		"one version": func(*rand.Rand) engine.Limit { return rule.TokenBucket(rule.PerSecond(2), rule.Burst(10)) },
		"rates": func(r *rand.Rand) engine.Limit {
			return rule.TokenBucket(rule.PerSecond([]int64{1, 3, 50}[r.IntN(3)]), rule.Burst(10))
		},
		"rates and bursts": func(r *rand.Rand) engine.Limit {
			return rule.TokenBucket(rule.PerSecond([]int64{1, 3, 50}[r.IntN(3)]), rule.Burst([]int64{5, 10, 40}[r.IntN(3)]))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := headgatetest.NewClock()
			store, err := memstore.New(memstore.Config{Clock: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for i := range uint64(raced.Size(10_000, 500)) {
				seed := *differential.Seed + i
				if err := slots(store, clock, strconv.FormatUint(seed, 10), rand.New(rand.NewPCG(seed, 9)), versions); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// slots reserves and settles units of a key in a random order, under two versions of its limit.
func slots(store engine.Store, clock *headgatetest.Clock, key string, r *rand.Rand, draw func(r *rand.Rand) engine.Limit) error {
	var all []passed
	var history []string
	limits := []engine.Limit{draw(r), draw(r)}
	fast := func(l engine.Limit) int64 { n := l.Numbers(); return n.Refilled(1_000_000_000) }
	slices.SortFunc(limits, func(a, b engine.Limit) int { return cmp.Compare(fast(a), fast(b)) })
	raised := r.IntN(14)
	for i := range 14 {
		clock.Advance(time.Duration(r.IntN(3)*r.IntN(2500)) * time.Millisecond)
		version := r.IntN(2)
		if fast(limits[0]) < fast(limits[1]) {
			version = min(1, (i+1)/(raised+1)) // from slow to fast
		}
		op := engine.Single(engine.OpReserve, key, limits[version], 1+r.Int64N(10))
		op.Ahead = time.Duration(r.IntN(3)) * 20 * time.Second
		which := -1
		if open := slices.IndexFunc(all, func(p passed) bool { return p.handle != nil }); open >= 0 && r.IntN(3) == 0 {
			which = open + r.IntN(len(all)-open)
			if all[which].handle == nil {
				continue
			}
			used := r.Int64N(all[which].units + 1)
			op = all[which].handle.Settle(used)
			all[which].handle, all[which].units = nil, used
		}
		var results [1]engine.Answer
		store.Do(context.Background(), []engine.Op{op}, results[:])
		if results[0].Err != nil {
			return results[0].Err
		}
		o := &results[0]
		history = append(history, fmt.Sprintf("%s: %s %v settles %d, allowed %t, delay %s", clock.Now().Format("05.000"), op.Kind, op.Charges, which, o.Allowed, o.Delay))
		if which < 0 && o.Allowed {
			all = append(all, passed{clock.Now().Add(o.Delay).UnixMicro(), op.Charges[0].Cost, o.Reservation(&op, fmt.Sprint(len(history)))})
		}
	}
	return within(all, limits, history)
}

// within compares every span with the largest burst and the fastest refill, and 1 unit for the slots' rounding to µs.
func within(all []passed, limits []engine.Limit, history []string) error {
	slices.SortFunc(all, func(a, b passed) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		sum := int64(0)
		for _, p := range all[i:] {
			sum += p.units
			allowed := int64(0)
			for _, l := range limits {
				for _, m := range limits {
					allowed = max(allowed, l.Numbers().Burst+m.Numbers().Refilled(p.at-all[i].at+1))
				}
			}
			if sum > allowed {
				return fmt.Errorf("%d units in %d µs, and at most %d are allowed, under %v:\n%v", sum, p.at-all[i].at, allowed, limits, history)
			}
		}
	}
	return nil
}
