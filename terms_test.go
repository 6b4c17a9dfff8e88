package headgate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// A limiter ends reservations that are never settled, and has no goroutine after Close.
func TestWatchTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		tokens := l.Policy("tokens", headgate.FixedWindow(headgate.PerDay(10_000))).SettleWithin(10*time.Second, engine.ReleaseCharge)
		left := func(want int64) {
			t.Helper()
			if d, err := tokens.Peek(t.Context(), "ann", 1); err != nil || d.Remaining != want {
				t.Errorf("%d left, %v; want %d", d.Remaining, err, want)
			}
		}
		forgotten, _, err := tokens.Reserve(t.Context(), "ann", 4000)
		if err != nil || forgotten.Term().Within != 10*time.Second {
			t.Fatal(err)
		}
		reported, _, _ := tokens.Reserve(t.Context(), "ann", 1000)
		time.Sleep(9 * time.Second)
		if open, err := reported.Report(t.Context(), 1500); err != nil || !open {
			t.Error(open, err)
		}
		left(4500)
		time.Sleep(2 * time.Second)
		left(8500)
		if open, err := forgotten.Report(t.Context(), 4000); err != nil || open {
			t.Error("a report after the term:", open, err)
		}
		if held, err := reported.Renew(t.Context()); err != nil || !held {
			t.Error(held, err)
		}
		time.Sleep(9 * time.Second)
		if err := reported.Commit(t.Context(), 1600); err != nil {
			t.Error(err)
		}
		left(8400)
		if err := l.Close(); err != nil { // a bubble with a goroutine left would fail
			t.Error(err)
		}
	})
}

// An operation with a term is enough for the limiter to watch.
func TestWatchTermsOfOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := headgate.New()
		limit := headgate.FixedWindow(headgate.PerDay(10))
		op := engine.Op{Kind: engine.OpReserve, Key: "k", ID: "a", Term: &engine.Term{Within: time.Second, Then: engine.ReleaseCharge}, Charges: []engine.Charge{{Limit: limit, Cost: 4}}}
		l.Do(t.Context(), []engine.Op{op}, nil)
		time.Sleep(3 * time.Second)
		if d, err := l.Policy("", limit).Peek(t.Context(), "k", 1); err != nil || d.Remaining != 10 {
			t.Errorf("%d left, %v; want 10", d.Remaining, err)
		}
		_ = l.Close()
	})
}

func TestTermsOfLists(t *testing.T) {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	long := l.Policy("long", headgate.FixedWindow(headgate.PerDay(10))).SettleWithin(time.Hour, engine.KeepCharge)
	short := l.Policy("short", headgate.FixedWindow(headgate.PerDay(10))).SettleWithin(time.Minute, engine.ReleaseCharge)
	without := l.Policy("without", headgate.FixedWindow(headgate.PerDay(10)))
	r, _, err := l.ReserveTogether(t.Context(), headgate.Charge{Policy: without, Key: "k", Units: 1}, headgate.Charge{Policy: long, Key: "k", Units: 1}, headgate.Charge{Policy: short, Key: "k", Units: 1})
	if err != nil || r.Term().Within != time.Minute || r.Term().Then != engine.ReleaseCharge {
		t.Fatalf("%+v, %v; the shortest term counts", r.Term(), err)
	}
	if _, err := r.Report(t.Context(), 1, 1); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("two numbers of three charges: %v", err)
	}
	if open, err := r.Report(t.Context(), 1, 2, 3); err != nil || !open {
		t.Error(open, err)
	}
	plain, _, _ := without.Reserve(t.Context(), "k", 1)
	if open, err := plain.Report(t.Context(), 5); err != nil || !open || plain.Term() != nil {
		t.Errorf("a report without a term: %t, %v", open, err)
	}
	for within, want := range map[time.Duration]bool{time.Millisecond: true, engine.MaxWithin: true, 0: false, time.Microsecond: false, engine.MaxWithin + time.Millisecond: false} {
		p := l.Policy("p", headgate.FixedWindow(headgate.PerDay(10))).SettleWithin(within, engine.KeepCharge)
		_, _, err := p.Reserve(context.Background(), "k", 1)
		if (err == nil) != want || (p.Err() == nil) != want {
			t.Errorf("a term of %s: %v, %v", within, err, p.Err())
		}
	}
}

// Open reservations report how many units they can still charge, and no commit exceeds its ceiling.
func TestCeilings(t *testing.T) {
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	tokens := l.Policy("tokens", headgate.FixedWindow(headgate.PerDay(10_000))).SettleWithin(time.Hour, engine.ReleaseCharge)
	requests := l.Policy("requests", headgate.FixedWindow(headgate.PerDay(10)))
	call := func(ceiling int64) (*headgate.Reservation, error) {
		r, _, err := l.ReserveTogether(t.Context(), headgate.Charge{Policy: tokens, Key: "k", Units: 1000, Ceiling: ceiling}, headgate.Charge{Policy: requests, Key: "k", Units: 1})
		return r, err
	}
	first, _ := call(4000)
	second, err := call(4000)
	if err != nil || !slices.Equal(first.Pending(), []int64{3000, 0}) || !slices.Equal(second.Pending(), []int64{6000, 0}) {
		t.Fatalf("%d and %d pending, %v", first.Pending(), second.Pending(), err)
	}
	above := &headgate.InputError{}
	if err := first.CommitEach(t.Context(), 4001, 1); !errors.As(err, &above) || above.Accepted != "0 to 4000, the ceiling of the reservation" {
		t.Errorf("a commit above the ceiling: %v", err)
	}
	again, err := l.Reservation(first.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.CommitEach(t.Context(), 4001, 1); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("a commit above the ceiling by the text: %v", err)
	}
	if err := first.CommitEach(t.Context(), 4000, 1); err != nil {
		t.Error(err)
	}
	if third, err := call(1000); err != nil || !slices.Equal(third.Pending(), []int64{3000, 0}) {
		t.Errorf("%d pending, %v", third.Pending(), err)
	}
	if _, err := call(999); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("a ceiling below the cost: %v", err)
	}
	if _, _, err := l.ReserveTogether(t.Context(), headgate.Charge{Policy: requests, Key: "k", Units: 1, Ceiling: 2}); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("a ceiling without a term: %v", err)
	}
}
