package core_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// TestSettledAllow checks that an allow with Settled decides like any other allow, that a denied allow returns no
// reservation, and that a cancel gives each limit's units back once.
func TestSettledAllow(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	ctx := context.Background()
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerHour(3)), rule.FixedWindow(rule.PerHour(3)), rule.SlidingLog(rule.PerHour(3)),
		rule.Pacer(rule.PerHour(1), rule.MaxQueue(2)),
	}
	p := limiter.PolicyOf("all", limits...)
	op := engine.Op{Kind: engine.OpAllow, Space: "policy:all", Key: "k", Hints: engine.Hints{Settled: true}}
	for i, limit := range limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit.WithPosition(i + 1), Cost: 1})
	}
	ask := func() (engine.Answer, *core.Reservation) {
		a := limiter.Core().Decide(ctx, op)[0]
		return a, limiter.Core().Reserved(&op, &a)
	}
	first, _ := ask()
	ask()
	third, held := ask()
	if !first.Allowed || !third.Allowed || third.Delay == 0 || held == nil {
		t.Fatalf("%+v %+v", first, third)
	}
	if fourth, held := ask(); fourth.Allowed || held != nil {
		t.Errorf("a denied one: %+v", fourth)
	}
	for range 2 { // the second time must not change anything
		if _, err := held.Settle(ctx, held.Held().Settle(0)); err != nil && !errors.Is(err, core.ErrEnded) {
			t.Fatal(err)
		}
		d, err := p.Peek(ctx, "k", 1)
		if err != nil || !d.Allowed || d.Limits[0].Remaining != 1 || d.Limits[1].Remaining != 1 || d.Limits[2].Remaining != 1 || d.Delay > third.Delay {
			t.Errorf("after the cancel: %+v %v", d, err)
		}
	}
}

// TestChargedLeavesNoMarkForLong checks that the mark of a charge that only its caller can settle lasts five minutes, and
// that a second settlement until then changes nothing (regression: bug 249).
func TestChargedLeavesNoMarkForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{MaxKeys: 500})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		limiter := headgate.New(headgate.WithStore(store))
		defer limiter.Close()
		p := limiter.PolicyOf("month", rule.FixedWindow(engine.Per(1000, 30*24*time.Hour)))
		time.Sleep(time.Hour)
		charged, _ := p.Core().Charge(t.Context(), "k", 10)
		time.Sleep(10 * time.Minute)
		if err := charged.Settle(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		time.Sleep(engine.SettleWithin - time.Second)
		if err := charged.Settle(t.Context(), 0); !errors.Is(err, core.ErrEnded) {
			t.Errorf("settled twice: %v", err)
		}
		if d, err := p.Peek(t.Context(), "k", 1); err != nil || d.Remaining != 997 || store.Stats().Keys != 2 {
			t.Errorf("%v %v, %d keys, want the window's and the mark", d, err, store.Stats().Keys)
		}
		time.Sleep(2 * time.Minute)
		for i := range 100 { // new keys drop those that expired a minute ago
			if _, err := p.Allow(t.Context(), strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		if stats := store.Stats(); stats.Keys != 101 || stats.Expired != 1 {
			t.Errorf("%+v: want the mark gone", stats)
		}
	})
}

// TestChargedIsCorrected checks that the final cost replaces the first charge on each limit. If the first cost was 0,
// it does so as far as the limit has room. After a denial there is nothing to settle.
func TestChargedIsCorrected(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	ctx := context.Background()
	p := limiter.PolicyOf("bytes", rule.TokenBucket(rule.PerDay(100), rule.AllowDebt(900)), rule.FixedWindow(rule.PerDay(20)), engine.NoLimit())
	for i, c := range []struct{ cost, final, bucket, window int64 }{{10, 3, 97, 17}, {3, 3, 94, 14}, {0, 4, 90, 10}, {0, 0, 90, 10}, {1, 40, 50, 0}} {
		charged, d, err := p.ChargeLater(ctx, "k", c.cost)
		if err != nil || !d.Allowed || d.Binding.Policy != "bytes" {
			t.Fatalf("%d: %+v, %v", i, d, err)
		}
		if err := charged.Settle(ctx, c.final); err != nil {
			t.Fatal(err)
		}
		d, err = p.Peek(ctx, "k", 0)
		if err != nil || d.Limits[0].Remaining != c.bucket || d.Limits[1].Remaining != c.window {
			t.Errorf("%d and then %d: %d and %d left, %v; want %d and %d", c.cost, c.final, d.Limits[0].Remaining, d.Limits[1].Remaining, err, c.bucket, c.window)
		}
	}
	if charged, d, err := p.ChargeLater(ctx, "k", 1); charged != nil || d.Allowed || err != nil {
		t.Errorf("a denied one: %v, %+v, %v", charged, d, err)
	}
	charged, _, err := p.ChargeLater(ctx, "another", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := charged.Settle(ctx, 30); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Peek(ctx, "another", 0); err != nil || d.Limits[0].Remaining != 70 || d.Limits[1].Remaining != 0 {
		t.Errorf("30 of 20 that were not charged before: %+v, %v", d.Limits, err)
	}
}

// TestChargedChoicePaysOnce checks that only one choice pays the final cost if the first cost was 0. It is the first
// choice with room or, if no choice has room, the last choice, which pays as much as it can.
func TestChargedChoicePaysOnce(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	ctx := context.Background()
	limits := []engine.Limit{rule.FixedWindow(rule.PerDay(10), rule.Named("included")), rule.FixedWindow(rule.PerDay(20), rule.Named("credits"))}
	p := limiter.PolicyOf("calls", limits...).First()
	for i, c := range []struct{ final, included, credits int64 }{{6, 4, 20}, {7, 4, 13}, {30, 4, 0}, {2, 2, 0}} {
		charged, d, err := p.ChargeLater(ctx, "k", 0)
		if err != nil || !d.Allowed {
			t.Fatalf("%d: %+v, %v", i, d, err)
		}
		if err := charged.Settle(ctx, c.final); err != nil {
			t.Fatal(err)
		}
		var left [2]int64
		for at, limit := range limits {
			d, err := limiter.PolicyOf("calls", limit).Peek(ctx, "k", 1)
			if err != nil {
				t.Fatal(err)
			}
			left[at] = d.Remaining
		}
		if left != [2]int64{c.included, c.credits} {
			t.Errorf("%d: a final cost of %d leaves %v, want %d and %d", i, c.final, left, c.included, c.credits)
		}
	}
}
