package headgate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/headgate/headgate"
)

// A policy cannot contain a concurrency limit, and a semaphore has its own counters.
func TestConcurrencyBelongsToSemaphores(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	limit, err := headgate.ParseLimit("concurrency 3")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Policy("p", limit).Err(); !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "Limiter.Semaphore") {
		t.Errorf("a policy of concurrency: %v", err)
	}
	for want, s := range map[string]*headgate.Semaphore{
		"name is":    l.Semaphore("", headgate.Concurrency{Units: 1}),
		"Units is 0": l.Semaphore("s", headgate.Concurrency{}),
		"Lease is":   l.Semaphore("s", headgate.Concurrency{Units: 1, Lease: -1}),
	} {
		_, _, tried := s.TryAcquire(t.Context(), "k", 1)
		_, waited := s.Acquire(t.Context(), "k", 1)
		for _, err := range []error{s.Err(), tried, waited} {
			if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// A permit is released once: a second release does not call the store.
func TestPermitIsReleasedOnce(t *testing.T) {
	l, store := onMemory(t)
	ctx, s := context.Background(), l.Semaphore("s", headgate.Concurrency{Units: 1})
	first, err := s.Acquire(ctx, "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	second, _, err := s.TryAcquire(ctx, "k", 1)
	if err != nil || second == nil {
		t.Fatal(second, err)
	}
	before := store.calls.Load()
	if err := first.Release(ctx); err != nil || store.calls.Load() != before {
		t.Fatalf("%v, %d calls", err, store.calls.Load()-before)
	}
	if d, err := s.Peek(ctx, "k", 1); err != nil || d.Remaining != 0 {
		t.Errorf("%d free units, %v, want 0", d.Remaining, err)
	}
	if err := first.Renew(ctx); !errors.Is(err, headgate.ErrEnded) {
		t.Errorf("renew after the release: %v", err)
	}
	if found, err := s.Reset(ctx, "k"); err != nil || !found {
		t.Errorf("reset: %t, %v", found, err)
	}
}

// Must returns a valid policy or semaphore, and panics with the error of an invalid one.
func TestMust(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	p := l.Policy("p", headgate.TokenBucket{Rate: headgate.PerSecond(1)})
	if headgate.Must(p) != p {
		t.Error("another policy")
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("panic: %v", err)
		}
	}()
	headgate.Must(l.Policy("p", headgate.Pacer{Rate: headgate.PerSecond(1)}))
}

// A policy needs a name, and none of its limits may be nil.
func TestPolicyNeedsANameAndLimits(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	hour := headgate.FixedWindow{Rate: headgate.PerHour(1)}
	for want, p := range map[string]*headgate.Policy{
		"name is":      l.Policy("", hour),
		"name is ":     l.Policy("", hour, hour),
		"limit is nil": l.Policy("p", nil),
		"limits is 0":  l.Policy("p"),
	} {
		if _, err := p.Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), strings.TrimSpace(want)) || p.Err() == nil {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
