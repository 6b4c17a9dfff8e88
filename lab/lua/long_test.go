package lua

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// TestLong checks that for histories too long to read and write in one piece, the scripts make the same decisions as
// the Go steps.
func TestLong(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	clock := headgatetest.NewClock()
	long(t, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now}), clock)
}

// long fills logs, and windows with many segments. It sends both stores the same operations, and compares all
// answers.
func long(t *testing.T, store engine.Store, clock *headgatetest.Clock) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, limits := range [][]engine.Limit{
		{
			rule.SlidingLog(rule.Per(2_000, time.Second), rule.And(rule.Per(900, 300*time.Millisecond))),
			rule.SlidingLog(rule.Per(2_000, time.Second), rule.CountDenied()),
			rule.SlidingLog(rule.Per(1_500, 2*time.Second)),
		},
		{
			rule.SlidingWindow(rule.Per(5_000, time.Second), rule.Segments(1000), rule.Weighted()),
			rule.SlidingWindow(rule.Per(5_000, time.Second), rule.Segments(1000), rule.Strict(), rule.CountDenied(), rule.Named("strict")),
		},
	} {
		for _, limit := range limits {
			clock.Advance(10 * time.Second)
			compareLong(t, store, memory, clock, limit, limits)
		}
	}
	manyStale(t, store, memory, clock)
}

// manyStale checks that a give gets the same answer from both stores if there are more than a thousand expired
// entries. If more than a thousand live entries precede the charge, a give by handle on Redis returns the oldest units
// instead. It must not free units sooner than the in-memory store does.
func manyStale(t *testing.T, store, memory engine.Store, clock *headgatetest.Clock) {
	t.Helper()
	limit := rule.SlidingLog(rule.Per(5_000, time.Second), rule.Named("stale"))
	do := func(kind engine.Kind, taken time.Time) (decisions [2]engine.Answer) {
		t.Helper()
		for i, each := range []engine.Store{store, memory} {
			results := make([]engine.Answer, 1)
			each.Do(context.Background(), []engine.Op{{Kind: kind, Space: "stale", Key: "k", Handle: taken, Charges: []engine.Charge{{Limit: limit, Cost: 1}}}}, results)
			if results[0].Err != nil {
				t.Fatal(results[0].Err)
			}
			decisions[i] = results[0]
		}
		if decisions[0].Binds().Remaining != decisions[1].Binds().Remaining {
			t.Fatalf("%s: %d here, %d by the steps", kind, decisions[0].Binds().Remaining, decisions[1].Binds().Remaining)
		}
		return decisions
	}
	var last time.Time
	for range 1_300 {
		clock.Advance(500 * time.Microsecond)
		last = time.UnixMicro(do(engine.OpAllow, time.Time{})[0].AtMicros)
	}
	clock.Advance(900 * time.Millisecond)
	for _, kind := range []engine.Kind{engine.OpGive, engine.OpPeek, engine.OpAllow, engine.OpGive} {
		do(kind, time.Time{})
	}
	for range 1_300 {
		clock.Advance(500 * time.Microsecond)
		last = time.UnixMicro(do(engine.OpAllow, time.Time{})[0].AtMicros)
	}
	if d := do(engine.OpGive, last); d[0].Binds().ResetAfter < d[1].Binds().ResetAfter {
		t.Errorf("a give by handle frees %s, sooner than the steps do: %s", d[0].Binds().ResetAfter, d[1].Binds().ResetAfter)
	}
	clock.Advance(10 * time.Second)
}

// TestTotalsStartAgain checks that a running total restarts at 0 when it is near the largest integer that a double
// represents exactly, and that nothing else changes.
func TestTotalsStartAgain(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	clock := headgatetest.NewClock()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	limit := rule.SlidingLog(rule.Per(9, time.Second))
	op := engine.Single(engine.OpAllow, "k", limit, 2)
	op.Space = "s"
	key := store.Keys(&op)[0]
	take := func(remaining int64) {
		t.Helper()
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, results)
		if d := results[0]; results[0].Err != nil || d.Binds().Remaining != remaining {
			t.Errorf("%d left, want %d, %v", d.Binds().Remaining, remaining, results[0].Err)
		}
	}
	take(7)
	clock.Advance(time.Millisecond)
	take(5)
	// The same state with totals that start at 2^52: see docs/design/keys.md.
	state := []byte(s.Text("get", key))
	for _, total := range []int{11, 24 + 8, 24 + 15 + 8} {
		state[total] |= 0x10
	}
	s.MustDo("set", key, string(state), "keepttl")
	clock.Advance(time.Millisecond)
	take(3)
	if state = []byte(s.Text("get", key)); state[11] != 0 || state[24+8] != 0 {
		t.Errorf("the totals go on: % x", state)
	}
	clock.Advance(998 * time.Millisecond)
	take(3) // the first two charges no longer count
}

func compareLong(t *testing.T, store, memory engine.Store, clock *headgatetest.Clock, limit engine.Limit, others []engine.Limit) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var taken []time.Time
	for i := range 3_000 {
		op := engine.Op{Space: "long", Key: "k", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
		switch n := r.IntN(200); {
		case n < 3:
			op.Kind, op.Charges[0].Cost = engine.OpGive, 1+r.Int64N(40)
		case n < 6 && len(taken) > 0:
			op.Kind, op.Handle = engine.OpGive, taken[max(0, len(taken)-1-r.IntN(900))]
		case n < 20:
			op.Kind = engine.OpPeek
		case n == 20:
			clock.Advance(-time.Duration(r.IntN(200)) * time.Millisecond)
		case n == 21:
			clock.Advance(time.Duration(r.IntN(700)) * time.Millisecond)
		case n == 22 && limit.Name() == engine.DefaultName:
			op.Charges[0].Limit = others[r.IntN(len(others))]
			if op.Charges[0].Limit.Name() != limit.Name() {
				op.Charges[0].Limit = limit
			}
		}
		clock.Advance(time.Duration(r.IntN(700)) * time.Microsecond)
		ours, expected := make([]engine.Answer, 1), make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, ours)
		memory.Do(context.Background(), []engine.Op{op}, expected)
		a, b := ours[0], expected[0]
		if ours[0].Err != nil || a.Allowed != b.Allowed || a.Binds().Remaining != b.Binds().Remaining || a.Binds().RetryAfter != b.Binds().RetryAfter || a.Binds().ResetAfter != b.Binds().ResetAfter {
			t.Fatalf("%s, step %d, %s of %d by %s:\n here %+v %v\nsteps %+v", limit, i, op.Kind, op.Charges[0].Cost, op.Handle, a, ours[0].Err, b)
		}
		if op.Kind == engine.OpAllow && a.Allowed {
			taken = append(taken, a.At())
		}
	}
}

// TestEvictedLeases checks that if a server evicts one of a concurrency limit's two keys, all units become available
// once, but the limit never admits every holder.
func TestEvictedLeases(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	limit := rule.Concurrency(3)
	op := engine.Op{Kind: engine.OpAcquire, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
	acquire := func(from, to int) (allowed int) {
		for i := from; i < to; i++ {
			op.ID = fmt.Sprint("holder", i)
			results := make([]engine.Answer, 1)
			store.Do(context.Background(), []engine.Op{op}, results)
			if results[0].Err != nil {
				t.Fatal(results[0].Err)
			}
			if results[0].Allowed {
				allowed++
			}
		}
		return allowed
	}
	for round, lost := range store.Keys(&op) {
		if n := acquire(0, 10); n != 3 {
			t.Errorf("%d of 10 callers hold a limit of 3", n)
		}
		s.MustDo("del", lost)
		if n := acquire(10, 30); n > 3 {
			t.Errorf("round %d: %d more callers hold a limit of 3 after %q was lost", round, n, lost)
		}
		s.MustDo("flushall")
	}
}

// TestStaleSegments (regression: bug 25) checks that an admitted call deletes all expired segments at once, and that the
// totals of the other segments remain.
func TestStaleSegments(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	clock := headgatetest.NewClock()
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	limit := rule.SlidingWindow(rule.PerSecond(100), rule.Segments(20), rule.Strict())
	op := engine.Single(engine.OpAllow, "k", limit, 1)
	op.Space = "s"
	items := func(after time.Duration) int {
		t.Helper()
		clock.Advance(after)
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, results)
		if results[0].Err != nil || !results[0].Allowed {
			t.Fatalf("%+v, %v", results[0], results[0].Err)
		}
		return (len(s.Text("get", store.Keys(&op)[0])) - 24) / 15
	}
	for i := range 20 {
		if n := items(50 * time.Millisecond); n != i+1 {
			t.Errorf("%d segments after %d", n, i+1)
		}
	}
	if n := items(500 * time.Millisecond); n != 12 {
		t.Errorf("%d segments are left half a window later, want 11 and the new one", n)
	}
	if n := items(time.Minute); n != 1 {
		t.Errorf("%d segments are left when none counts", n)
	}
}
