package prefetch

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// Prefetched units live for the configured life, starting at the request for them, but not longer than their window
// or segment. They are returned after half of their life. docs/reference/promises.md documents the stated bound.
func TestHoldLivesForItsLifeOrWindow(t *testing.T) {
	const ms = time.Millisecond
	at := time.UnixMilli(1_700_000_000_000)
	for _, c := range []struct {
		limit     engine.Limit
		into      time.Duration // time from the start of the second to the decision
		reset     time.Duration
		life      time.Duration
		lives     time.Duration
		members   int
		overshoot int64
	}{
		{rule.TokenBucket(rule.PerSecond(100)), 0, time.Hour, 100 * ms, 100 * ms, 3, 10},
		{rule.TokenBucket(rule.PerSecond(100)), 0, time.Hour, 101 * ms, 101 * ms, 3, 11},
		{rule.TokenBucket(rule.PerSecond(100), rule.Burst(7)), 0, time.Hour, time.Second, time.Second, 3, 3},
		{rule.TokenBucket(rule.PerSecond(100), rule.Burst(5)), 0, time.Hour, time.Second, time.Second, 3, 0},
		{rule.FixedWindow(rule.PerSecond(100)), 0, 40 * ms, 100 * ms, 40 * ms, 3, 0},
		{rule.FixedWindow(rule.PerSecond(100)), 0, 400 * ms, 100 * ms, 100 * ms, 3, 0},
		{rule.SlidingWindow(rule.PerSecond(100), rule.Segments(5)), 370 * ms, time.Second, 100 * ms, 30 * ms, 3, 0},
		{rule.SlidingWindow(rule.PerSecond(100), rule.Segments(5)), 400 * ms, time.Second, time.Second, 200 * ms, 3, 0},
	} {
		sent := time.Now()
		d := engine.Answer{Allowed: true, Granted: 3, AtMicros: at.Add(c.into).UnixMicro()}
		d.Binds().Remaining, d.Binds().ResetAfter = 90, c.reset
		h := newHold(&id{}, c.limit, &d, sent, c.life, c.members)
		if lives, returns := h.dies.Sub(sent), h.returns.Sub(sent); lives != c.lives || returns != c.lives/2 {
			t.Errorf("%v: lives %v, goes back after %v; want %v", c.limit, lives, returns, c.lives)
		}
		spend := func(now time.Time) (a engine.Answer, ok bool) {
			left, ok := h.spend(1, now)
			if ok {
				h.answer(1, left, now, &a)
			}
			return a, ok
		}
		first, ok := spend(h.dies.Add(-1))
		if !ok || first.Granted != 1 || first.Binds().Remaining != 91 || first.Promise != (engine.Promise{Mode: engine.Leased, OvershootMax: c.overshoot}) {
			t.Errorf("%v: %v, %+v; want a bound of %d", c.limit, ok, first, c.overshoot)
		}
		if _, ok := spend(h.dies); ok {
			t.Errorf("%v: spent after its life", c.limit)
		}
		if last, ok := spend(h.dies.Add(-1)); !ok || last.Binds().Remaining != 90 {
			t.Errorf("%v: the second of two: %v, %+v", c.limit, ok, last)
		}
		if _, ok := spend(sent); ok {
			t.Errorf("%v: three of two", c.limit)
		}
	}
}

// If prefetched units are returned after their window has ended, they free nothing in the current window.
func TestUnitsGoBackToTheWindowOfTheirCharge(t *testing.T) {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	limit := rule.FixedWindow(rule.PerSecond(100))
	do := func(op engine.Op) engine.Answer {
		t.Helper()
		results := make([]engine.Answer, 1)
		if store.Do(t.Context(), []engine.Op{op}, results); results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return results[0]
	}
	on := func(kind engine.Kind, cost int64) engine.Op {
		op := engine.Single(kind, "k", limit, cost)
		op.Space = "s"
		return op
	}
	taken := do(on(engine.OpAllow, 10))
	clock.Advance(2 * time.Second)
	do(on(engine.OpAllow, 30))
	r := record{name: id{space: "s", key: "k"}, limit: limit, hold: &hold{taken: taken.At()}}
	r.hold.units.Store(10)
	do(r.giveBack().op)
	if left := do(on(engine.OpPeek, 1)); left.Binds().Remaining != 70 {
		t.Errorf("%d left of 100 after 30 were charged and 10 of an earlier window went back", left.Binds().Remaining)
	}
}
