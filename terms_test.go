package headgate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// A limiter ends reservations that are never settled, and leaves no goroutine after Close.
func TestWatchTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		tokens := l.PolicyOf("tokens", rule.FixedWindow(rule.PerDay(10_000))).SettleWithin(10*time.Second, headgate.ReleaseCharge)
		left := func(want int64) {
			t.Helper()
			if d, err := tokens.Peek(t.Context(), "ann", 1); err != nil || d.Remaining != want {
				t.Errorf("%d left, %v; want %d", d.Remaining, err, want)
			}
		}
		forgotten, _, err := tokens.Reserve(t.Context(), "ann", 4000)
		if err != nil || forgotten.Core().Held().Term.Within != 10*time.Second {
			t.Fatal(err)
		}
		reported, _, _ := tokens.Reserve(t.Context(), "ann", 1000)
		time.Sleep(9 * time.Second)
		if err := reported.Report(t.Context(), 1500); err != nil {
			t.Error(err)
		}
		left(4500)
		time.Sleep(2 * time.Second)
		left(8500)
		if err := forgotten.Report(t.Context(), 4000); !errors.Is(err, headgate.ErrEnded) {
			t.Error("a report after the term:", err)
		}
		if err := reported.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(9 * time.Second)
		if _, err := reported.Commit(t.Context(), 1600); err != nil {
			t.Error(err)
		}
		left(8400)
		if err := l.Close(); err != nil { // a goroutine that outlives Close would fail the synctest bubble
			t.Error(err)
		}
	})
}

// An operation with a term makes the limiter start watching terms.
func TestWatchTermsOfOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		limit := rule.FixedWindow(rule.PerDay(10))
		op := engine.Op{Kind: engine.OpReserve, Key: "k", ID: "a", Term: &engine.Term{Within: time.Second, Then: engine.ReleaseCharge}, Charges: []engine.Charge{{Limit: limit, Cost: 4}}}
		l.Core().Decide(t.Context(), op)
		time.Sleep(3 * time.Second)
		if d, err := l.PolicyOf("", limit).Peek(t.Context(), "k", 1); err != nil || d.Remaining != 10 {
			t.Errorf("%d left, %v; want 10", d.Remaining, err)
		}
		_ = l.Close()
	})
}

func TestTermsOfLists(t *testing.T) {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	long := l.PolicyOf("long", rule.FixedWindow(rule.PerDay(10))).SettleWithin(time.Hour, headgate.KeepCharge)
	short := l.PolicyOf("short", rule.FixedWindow(rule.PerDay(10))).SettleWithin(time.Minute, headgate.ReleaseCharge)
	without := l.PolicyOf("without", rule.FixedWindow(rule.PerDay(10)))
	r, _, err := l.ReserveAll(t.Context(), headgate.Charge{Policy: without, Key: "k", Units: 1}, headgate.Charge{Policy: long, Key: "k", Units: 1}, headgate.Charge{Policy: short, Key: "k", Units: 1})
	if err != nil || r.Core().Held().Term.Within != time.Minute || r.Core().Held().Term.Then != engine.ReleaseCharge {
		t.Fatalf("%+v, %v; the shortest term counts", r.Core().Held().Term, err)
	}
	if err := r.Report(t.Context(), 1, 1); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("two numbers of three charges: %v", err)
	}
	if err := r.Report(t.Context(), 1, 2, 3); err != nil {
		t.Error(err)
	}
	plain, _, _ := without.Reserve(t.Context(), "k", 1)
	if err := plain.Report(t.Context(), 5); err != nil || plain.Core().Held().Term != nil {
		t.Errorf("a report without a term: %v", err)
	}
	for within, want := range map[time.Duration]bool{time.Millisecond: true, engine.MaxWithin: true, 0: false, time.Microsecond: false, engine.MaxWithin + time.Millisecond: false} {
		p := l.PolicyOf("p", rule.FixedWindow(rule.PerDay(10))).SettleWithin(within, headgate.KeepCharge)
		_, _, err := p.Reserve(context.Background(), "k", 1)
		if (err == nil) != want || (p.Err() == nil) != want {
			t.Errorf("a term of %s: %v, %v", within, err, p.Err())
		}
	}
	p := l.PolicyOf("p", rule.FixedWindow(rule.PerDay(10))).SettleWithin(time.Hour, 9)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), `policy "p": then is 9; accepted: KeepCharge or ReleaseCharge`) {
		t.Error(err)
	}
}
