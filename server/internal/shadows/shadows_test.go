package shadows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/shadows"
)

// store is a store that can be made unavailable.
type store struct {
	engine.Store
	away bool
}

func (s *store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if !s.away {
		s.Store.Do(ctx, ops, results)
		return
	}
	for i := range results {
		results[i].Err = headgate.ErrStoreUnavailable
	}
}

// world is a service whose answers are compared.
type world struct {
	t       *testing.T
	tracker *shadows.Tracker
	service *service.Service
	store   store
	clock   *headgatetest.Clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: headgatetest.NewClock()}
	memory, err := memstore.New(memstore.Config{Clock: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.store.Store = memory
	limiter := core.New(core.Config{Store: &w.store})
	t.Cleanup(func() { _, _ = limiter.Close(), memory.Close() })
	w.tracker = shadows.New(w.clock.Now)
	w.service = service.New(service.Config{Limiter: limiter, Observer: w.tracker})
	return w
}

func (w *world) load(file string) {
	w.t.Helper()
	config, err := policy.Parse("p.yaml", []byte(file))
	if err != nil {
		w.t.Fatal(err)
	}
	w.tracker.SetPolicies(config.Policies)
	w.service.SetPolicies(config.Policies, config.Routes)
}

func (w *world) take(name, key string, times int, kinds ...engine.Kind) {
	kind := engine.OpAllow
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	for range times {
		answers := make([]decide.Response, 1)
		w.service.Do(w.t.Context(), service.HTTP, []decide.Request{{Kind: kind, Item: decide.Item{Policy: name, Key: key}}}, answers)
		if err := answers[0].Err; err != nil && !errors.Is(err, headgate.ErrStoreUnavailable) {
			w.t.Fatal(err)
		}
	}
}

// counts returns the counts of both allowed, both denied, newly denied, newly allowed, and unknown.
func (w *world) counts(name string) string {
	for _, c := range w.tracker.Compare() {
		if c.Policy == name {
			n := c
			return fmt.Sprint(n.BothAllowed, n.BothDenied, n.NewlyDenied, n.NewlyAllowed, n.Unknown)
		}
	}
	return "none"
}

func (w *world) want(name, counts string) {
	w.t.Helper()
	if got := w.counts(name); got != counts {
		w.t.Errorf("%s: %s, want %s", name, got, counts)
	}
}

// TestCandidateAgainstItsPolicy checks which requests a stricter and a looser candidate would answer differently.
// Peeks are not compared.
func TestCandidateAgainstItsPolicy(t *testing.T) {
	w := newWorld(t)
	w.load(`
policies:
  strict: {algorithm: fixed-window, limit: 5, window: 1h, shadow: {limit: 2}}
  loose:  {algorithm: fixed-window, limit: 2, window: 1h, shadow: {limit: 5}}
  plain:  5/1h
`)
	for _, name := range []string{"strict", "loose", "plain"} {
		w.take(name, "k", 7)
		w.take(name, "k", 3, engine.OpPeek)
	}
	w.want("strict", "2 2 3 0 0")
	w.want("loose", "2 2 0 3 0")
	w.want("plain", "none")
}

// TestShadowAmongOtherLimits checks that a looser shadow does not allow requests that another limit denies, and that
// a policy that has only shadows counts each request only once, however many limits it has.
func TestShadowAmongOtherLimits(t *testing.T) {
	w := newWorld(t)
	w.load(`
policies:
  own:   {algorithm: fixed-window, limit: 3, window: 1h, shadow: {limit: 9}}
  tight: {algorithm: fixed-window, limit: 4, window: 1h}
  both:  {all: [own, tight]}
  first: {algorithm: fixed-window, limit: 2, window: 1h}
  last:  {algorithm: fixed-window, limit: 1, window: 1h}
  tried: {shadow: true, all: [first, last]}
  quiet: {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
`)
	w.take("both", "k", 3)
	w.take("tight", "k", 1)
	w.take("both", "k", 2) // both limits deny
	w.want("own", "3 2 0 0 0")
	w.take("own", "k", 1) // only the policy's own limit denies
	w.want("own", "3 2 0 1 0")
	w.take("tried", "k", 3)
	w.want("tried", "1 0 2 0 0")
	w.want("first", "none")
	w.take("quiet", "k", 3)
	w.want("quiet", "1 0 2 0 0")
}

// TestCountsBeginAnew checks that the counts restart when the live limit or the candidate changes, but not otherwise.
func TestCountsBeginAnew(t *testing.T) {
	w := newWorld(t)
	file := func(limit, candidate int, other string) string {
		return fmt.Sprintf("policies:\n  a: {algorithm: fixed-window, limit: %d, window: 1h, shadow: {limit: %d}}\n  b: %s\n", limit, candidate, other)
	}
	began := w.clock.Now()
	w.load(file(9, 5, "1/s"))
	w.take("a", "k", 2)
	w.clock.Advance(time.Minute)
	w.load(file(9, 5, "2/s"))
	w.want("a", "2 0 0 0 0")
	if since := w.tracker.Compare()[0].Since; !since.Equal(began) {
		t.Errorf("since %s, want %s", since, began)
	}
	for _, next := range []string{file(9, 6, "2/s"), file(8, 6, "2/s")} {
		w.take("a", "k", 1)
		w.load(next)
		w.want("a", "0 0 0 0 0")
	}
	w.load("policies: {a: {algorithm: fixed-window, limit: 8, window: 1h, shadow: {limit: 6}, enabled: false}}")
	w.want("a", "none")
}

// TestOutageIsNotCompared checks that requests during an outage are not compared, because neither answer is known.
func TestOutageIsNotCompared(t *testing.T) {
	w := newWorld(t)
	w.load("policies: {a: {algorithm: fixed-window, limit: 5, window: 1h, failure: allow, shadow: {limit: 2}}}")
	w.take("a", "k", 1)
	w.store.away = true
	w.take("a", "k", 4)
	w.want("a", "1 0 0 0 4")
}

// TestBound checks that at most MaxPolicies policies with a shadow are compared.
func TestBound(t *testing.T) {
	var file []byte
	file = append(file, "policies:\n"...)
	for i := range shadows.MaxPolicies + 1 {
		file = fmt.Appendf(file, "  p%05d: {algorithm: fixed-window, limit: 5, window: 1h, shadow: true}\n", i)
	}
	w := newWorld(t)
	w.load(string(file))
	if n := len(w.tracker.Compare()); n != shadows.MaxPolicies {
		t.Errorf("%d policies, want %d", n, shadows.MaxPolicies)
	}
	w.take("p10000", "k", 1)
	w.want("p10000", "none")
}
