package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// An in-memory policy uses the fast path (its bound limit) unless the limiter has an observer of package core. Both paths
// must return the same decisions and errors, and pass the same results to an observer.
func TestPolicyDecidesTheSameWithAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 6))
		seen := 0
		var fast, slow string
		plain := headgate.New(headgate.WithObserver(func(_ context.Context, r headgate.Result) { fast = fmt.Sprintf("%#v %v", r, r.Err) }))
		observed := headgate.New(headgate.WithObserver(func(_ context.Context, r headgate.Result) { slow = fmt.Sprintf("%#v %v", r, r.Err) }),
			headgate.WithCore(func(c *core.Config) { c.Observer = func(context.Context, *engine.Op, *engine.Answer) { seen++ } }))
		for _, limit := range []engine.Limit{
			rule.TokenBucket(rule.PerSecond(3), rule.Burst(5)), rule.FixedWindow(rule.PerMinute(9)),
			rule.Pacer(rule.PerSecond(3), rule.MaxQueue(2)), rule.SlidingLog(rule.PerSecond(4)), engine.NoLimit(),
		} {
			one, other := plain.PolicyOf("p", limit), observed.PolicyOf("p", limit)
			for range 500 {
				key := []string{"a", "b", "c", "", strings.Repeat("k", 1025)}[random.IntN(5)]
				n := random.Int64N(8) - 1
				d, err := one.AllowN(t.Context(), key, n)
				want, wantErr := other.AllowN(t.Context(), key, n)
				if fmt.Sprintf("%#v %v", d, err) != fmt.Sprintf("%#v %v", want, wantErr) {
					t.Fatalf("%s, %d units of %.9q:\n%#v, %v; with an observer\n%#v, %v", limit, n, key, d, err, want, wantErr)
				}
				if errors.Is(err, headgate.ErrInvalid) {
					fast, slow = "", "" // two errors with different addresses
				}
				if fast != slow {
					t.Fatalf("%s, %d units of %.9q: observed\n%s; without the fast path\n%s", limit, n, key, fast, slow)
				}
				time.Sleep(time.Duration(random.IntN(400_000)) * time.Microsecond)
			}
		}
		if seen == 0 {
			t.Error("the observer has seen nothing")
		}
	})
}

// A bound policy returns an error if the limiter is closed or the caller's context has ended.
func TestBoundPolicyHasItsErrors(t *testing.T) {
	l := headgate.New()
	p := l.PolicyOf("p", rule.TokenBucket(rule.PerSecond(10)))
	if d, err := p.Allow(t.Context(), "k"); err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if d, err := p.Allow(ended, "k"); !errors.Is(err, context.Canceled) || d.Allowed {
		t.Errorf("%+v, %v; want the context's error", d, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := p.Allow(t.Context(), "k"); !errors.Is(err, headgate.ErrClosed) || d.Allowed {
		t.Errorf("%+v, %v; want ErrClosed", d, err)
	}
}

// An observer adds no allocation to a decision in memory, whether the fast path or the store's Do decides.
func TestObserverDoesNotAllocate(t *testing.T) {
	seen := 0
	l := headgate.New(headgate.WithObserver(func(context.Context, headgate.Result) { seen++ }))
	defer l.Close()
	for name, limit := range map[string]headgate.Limit{
		"fast": headgate.TokenBucket{Rate: headgate.PerSecond(10)}, "do": headgate.SlidingWindow{Rate: headgate.PerSecond(10), Segments: 10},
	} {
		p := l.Policy(name, limit)
		if n := testing.AllocsPerRun(1000, func() { _, _ = p.Allow(t.Context(), "k") }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if seen == 0 {
		t.Error("the observer has seen nothing")
	}
}
