package headgate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

func onClock(t *testing.T) (*headgate.Limiter, *headgatetest.Clock) {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	l := headgate.New(headgate.WithStore(store))
	t.Cleanup(func() { _ = l.Close(); _ = store.Close() })
	return l, clock
}

func reserve(t *testing.T, p *headgate.Policy, n int64, delay time.Duration) *headgate.Reservation {
	t.Helper()
	r, d, err := p.Reserve(context.Background(), "k", n)
	if err != nil || !d.Allowed || d.Delay != delay {
		t.Fatalf("reserve of %d: %+v, %v; want a delay of %s", n, d, err, delay)
	}
	return r
}

// A reservation parsed from text can be settled in any process, but only once.
func TestReservationText(t *testing.T) {
	l, clock := onClock(t)
	ctx := context.Background()
	p := l.PolicyOf("p", rule.TokenBucket(rule.PerSecond(10), rule.Burst(1)))
	reserve(t, p, 1, 0)
	r := reserve(t, p, 1, 100*time.Millisecond)
	if delay := r.Delay(); delay > 100*time.Millisecond || delay < 50*time.Millisecond {
		t.Errorf("a delay of %s", delay)
	}
	again, err := l.Reservation(r.String())
	if err != nil {
		t.Fatal(err)
	}
	if again.String() != r.String() {
		t.Errorf("%s is read as %s", r, again)
	}
	for i, settle := range []func() error{
		func() error { return again.Cancel(ctx) },
		func() error { return r.Cancel(ctx) },
		func() error { _, err := again.Commit(ctx, 5); return err },
	} {
		want := []error{nil, nil, headgate.ErrEnded}[i]
		if err := settle(); !errors.Is(err, want) {
			t.Fatalf("settlement %d: %v, want %v", i, err, want)
		}
		if d, err := p.Peek(ctx, "k", 1); err != nil || d.ResetAfter != 100*time.Millisecond {
			t.Errorf("%+v, %v", d, err)
		}
	}
	reserve(t, p, 1, 100*time.Millisecond)
	clock.Advance(time.Hour)
	if again.Delay() != 0 {
		t.Errorf("a delay of %s after its slot", again.Delay())
	}
}

// A language model's tokens are reserved before a call and committed after it. Tokens used beyond the reservation are
// charged; unused ones are given back.
func TestReserveThenCommit(t *testing.T) {
	l, clock := onClock(t)
	ctx := context.Background()
	p := l.PolicyOf("llm", rule.TokenBucket(rule.PerMinute(60_000), rule.Burst(10_000)))
	for _, c := range []struct{ reserved, used, left int64 }{{4000, 1000, 9000}, {2000, 3000, 6000}, {1000, 0, 6000}, {500, 500, 5500}} {
		r := reserve(t, p, c.reserved, 0)
		if _, err := r.Commit(ctx, c.used); err != nil {
			t.Fatal(err)
		}
		if d, err := p.Peek(ctx, "k", 1); err != nil || d.Remaining != c.left {
			t.Errorf("%d of %d used: %d left, %v; want %d", c.used, c.reserved, d.Remaining, err, c.left)
		}
	}
	late := reserve(t, p, 1000, 0)
	clock.Advance(time.Minute) // the bucket has refilled completely, but the commit charges the excess
	if _, err := late.Commit(ctx, 3000); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Peek(ctx, "k", 1); err != nil || d.Remaining != 8000 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A reservation whose slot is after the deadline is denied, and charges nothing.
func TestReserveDeadline(t *testing.T) {
	l, _ := onClock(t)
	p := l.PolicyOf("p", rule.TokenBucket(rule.PerMinute(1)))
	reserve(t, p, 1, 0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	r, d, err := p.Reserve(ctx, "k", 1)
	if r != nil || err != nil || d.Allowed || d.Delay != time.Minute || d.RetryAfter < 10*time.Second || d.RetryAfter > 11*time.Second {
		t.Errorf("%v, %+v, %v", r, d, err)
	}
	reserve(t, p, 1, time.Minute)
}

// Invalid reservations cause errors that name the field, and change nothing.
func TestReserveInvalid(t *testing.T) {
	l, _ := onClock(t)
	ctx := context.Background()
	bucket := l.PolicyOf("p", rule.TokenBucket(rule.PerMinute(1)))
	semaphore := l.PolicyOf("s", rule.Concurrency(1))
	for name, call := range map[string]func() error{
		"cost":  func() error { _, _, err := bucket.Reserve(ctx, "k", 0); return err },
		"key":   func() error { _, _, err := bucket.Reserve(ctx, "", 1); return err },
		"limit": func() error { _, _, err := semaphore.Reserve(ctx, "k", 1); return err },
		"reservation": func() error {
			_, err := l.Reservation("AQ")
			return err
		},
	} {
		var input *engine.InputError
		if err := call(); !errors.As(err, &input) || input.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := reserve(t, bucket, 1, 0)
	if _, err := r.Commit(ctx, -1); !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("−1 used: %v", err)
	}
	if err := r.Cancel(ctx); err != nil {
		t.Error(err)
	}
	reserve(t, bucket, 1, 0)
}

// Two limiters on one store serve a thousand callers each: together at the rate, each in order, and with few calls to
// the store.
func TestManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := onMemory(t)
		slow := &slowStore{counting: store}
		limiters := []*headgate.Limiter{headgate.New(headgate.WithStore(slow)), headgate.New(headgate.WithStore(slow))}
		var wg sync.WaitGroup
		start := time.Now()
		for _, l := range limiters {
			p := l.PolicyOf("p", rule.TokenBucket(rule.PerSecond(1000), rule.Burst(1)))
			var passed []int
			var mu sync.Mutex
			for i := range 1000 {
				time.Sleep(time.Microsecond)
				wg.Go(func() {
					if _, err := p.Wait(context.Background(), "k"); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if n := len(passed); n > 0 && passed[n-1] > i {
						t.Errorf("%d passed before %d", passed[n-1], i)
					}
					passed = append(passed, i)
				})
			}
		}
		wg.Wait()
		if took := time.Since(start); took < 1990*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("2000 callers took %s at 1000 a second", took)
		}
		if calls := store.calls.Load(); calls > 100 {
			t.Errorf("%d calls of the store for 2000 callers", calls)
		}
	})
}

// slowStore is a store that answers each call after a millisecond.
type slowStore struct{ *counting }

func (s *slowStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	time.Sleep(time.Millisecond)
	s.counting.Do(ctx, ops, results)
}

// A caller that leaves while its reservation is in flight gives the units back.
func TestWaitLeavesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := onMemory(t)
		p := headgate.New(headgate.WithStore(&slowStore{counting: store})).PolicyOf("p", rule.TokenBucket(rule.PerMinute(1)))
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(1500*time.Microsecond, cancel) // their call is in flight from 1 ms to 2 ms
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if i == 0 {
					if _, err := p.Wait(context.Background(), "k"); err != nil {
						t.Error(err)
					}
					return
				}
				time.Sleep(100 * time.Microsecond)
				if _, err := p.Wait(ctx, "k"); err == nil {
					t.Error("a caller passed after it had left")
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Millisecond)
		if d, err := p.Peek(context.Background(), "k", 1); err != nil || d.ResetAfter > time.Minute {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// Charge decides like AllowN, and its charge is settled like a reservation. Units that no store charged cannot be
// settled.
func TestChargeIsSettled(t *testing.T) {
	l, _ := onClock(t)
	p := l.Policy("bytes", headgate.TokenBucket{Rate: headgate.PerSecond(1000)})
	charged, d, err := p.Charge(t.Context(), "k", 100)
	if err != nil || !d.Allowed || d.Remaining != 900 || d.Binding.Policy != "bytes" || charged.Delay() != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, want := range []error{nil, headgate.ErrEnded} { // the second time changes nothing
		if _, err := charged.Commit(t.Context(), 400); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	if d, err := p.Peek(t.Context(), "k", 1); err != nil || d.Remaining != 600 {
		t.Errorf("%d bytes remain, %v, want 600", d.Remaining, err)
	}
	if charged, d, err := p.Charge(t.Context(), "k", 601); charged != nil || d.Allowed || err != nil {
		t.Errorf("601 of 600 without a delay: %v, %+v, %v", charged, d, err)
	}
	if charged, _, err := p.Charge(t.Context(), "", 1); charged != nil || !errors.Is(err, headgate.ErrInvalid) {
		t.Errorf("no key: %v, %v", charged, err)
	}
}
