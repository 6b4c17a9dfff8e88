package decide_test

import (
	"errors"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

const firstPolicies = `
policies:
  minute:   {algorithm: fixed-window, limit: 100, window: 1m}
  included: {algorithm: fixed-window, limit: 3, window: 1d}
  credits:  {algorithm: fixed-window, limit: 5, window: 36525d}
  trial:    {algorithm: fixed-window, limit: 1, window: 1d, shadow: true}
  calls:    {first: [included, credits]}
  other:    {first: [minute, included]}
  plan:     {all: [minute, calls]}
  base:     {all: [{name: day, algorithm: fixed-window, limit: 9, window: 1d}, {name: week, algorithm: fixed-window, limit: 20, window: 7d}]}
  grouped:  {first: [base, credits]}
  tried:    {first: [trial, included, {name: gift, algorithm: fixed-window, limit: 1, window: 1d}]}
overrides:
  - {policy: included, key: free, deny: true}
  - {policy: base, key: shut, deny: true}
  - {policy: calls, key: staff, unlimited: true}
  - {policy: calls, key: banned, deny: true}
  - {policy: credits, key: rich, set: {limit: 50}}
`

func firstLimiter(t *testing.T) (*filelimit.Limiter, *headgate.Limiter) {
	t.Helper()
	config, err := policy.Parse("x.yaml", []byte(firstPolicies))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(store))
	t.Cleanup(func() { _ = limiter.Close() })
	return filelimit.New(config, limiter), limiter
}

// TestFirst checks that only the first limit with room is charged. The response contains its name, and no limits of
// other choices.
func TestFirst(t *testing.T) {
	l, _ := firstLimiter(t)
	for _, c := range []struct {
		policy, key string
		cost        int64
		paid        string
		remaining   int64
		limits      int
	}{
		{"calls", "ann", 2, "included", 1, 1},
		{"calls", "ann", 2, "credits", 3, 1},
		{"calls", "ann", 1, "included", 0, 1},
		{"plan", "ann", 2, "credits", 1, 2},
		{"plan", "ann", 2, "", 0, 2},
		{"calls", "free", 1, "credits", 4, 1},
		{"calls", "rich", 4, "credits", 46, 1},
		{"calls", "staff", 99, "", 0, 1},
		{"calls", "banned", 1, "", 0, 1},
		{"tried", "bob", 3, "included", 0, 1},
		{"tried", "bob", 1, "tried/gift", 0, 1},
		{"grouped", "shut", 1, "credits", 4, 1},
	} {
		r := ask(t, l, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: c.policy, Key: c.key, Cost: c.cost, HasCost: true}})
		if r.Err != nil || r.Paid != c.paid || filelimit.Decision(r).Paid != c.paid || r.Binds().Remaining != c.remaining || r.Count() != c.limits {
			t.Errorf("%s of %s: %+v", c.policy, c.key, r)
		}
		if c.limits > 0 && r.Of(r.Binding).Remaining != c.remaining {
			t.Errorf("%s of %s: the binding limit is not at %d of %+v", c.policy, c.key, r.Binding, r)
		}
	}
	r := ask(t, l, decide.Request{Kind: engine.OpPeek, Item: decide.Item{Policy: "minute", Key: "ann"}})
	if r.Binds().Remaining != 98 {
		t.Errorf("minute is charged by plan alone, once: %+v", r.Answer)
	}
}

// TestFirstOnceInARequest checks that a request cannot contain a second policy with "first", or a choice that it also
// charges directly. A give through such a policy is an error, because it does not name a limit.
func TestFirstOnceInARequest(t *testing.T) {
	l, _ := firstLimiter(t)
	for name, items := range map[string][]decide.Item{
		"two":   {{Policy: "calls", Key: "k"}, {Policy: "other", Key: "k"}},
		"again": {{Policy: "calls", Key: "k"}, {Policy: "calls", Key: "other"}},
		"both":  {{Policy: "calls", Key: "k"}, {Policy: "included", Key: "k"}},
	} {
		var item *engine.ItemError
		r := ask(t, l, decide.Request{Kind: engine.OpAllow, Items: items})
		if !errors.As(r.Err, &item) || item.Item != 1 || !errors.Is(r.Err, headgate.ErrInvalid) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	r := ask(t, l, decide.Request{Kind: engine.OpGive, Item: decide.Item{Policy: "calls", Key: "k"}})
	if !errors.Is(r.Err, headgate.ErrInvalid) {
		t.Errorf("a give does not say which limit it means: %v", r.Err)
	}
}

// TestFirstSettles checks that a reservation settles on the limit that was charged.
func TestFirstSettles(t *testing.T) {
	l, _ := firstLimiter(t)
	left := func(policy string) int64 {
		return ask(t, l, decide.Request{Kind: engine.OpPeek, Item: decide.Item{Policy: policy, Key: "k"}}).Binds().Remaining
	}
	ask(t, l, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "calls", Key: "k", Cost: 2, HasCost: true}})
	r := ask(t, l, decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "calls", Key: "k", Cost: 2, HasCost: true}})
	if r.Err != nil || r.Paid != "credits" || left("included") != 1 || left("credits") != 3 {
		t.Fatalf("%+v, %d and %d left", r, left("included"), left("credits"))
	}
	s := ask(t, l, decide.Request{Kind: engine.OpSettle, Item: decide.Item{Cost: 4, HasCost: true}, Reservation: r.Reservation})
	if s.Err != nil || !s.Found || left("included") != 1 || left("credits") != 1 {
		t.Errorf("%+v, %d and %d left", s, left("included"), left("credits"))
	}
}

// TestFirstIsReset checks the verbs whose answer has no limits on a policy with "first".
func TestFirstIsReset(t *testing.T) {
	l, _ := firstLimiter(t)
	ask(t, l, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "calls", Key: "k", Cost: 2, HasCost: true}})
	for _, want := range []bool{true, false} {
		for _, kind := range []engine.Kind{engine.OpExpiry, engine.OpReset} {
			r := ask(t, l, decide.Request{Kind: kind, Item: decide.Item{Policy: "calls", Key: "k"}})
			if r.Err != nil || r.Found != want || r.Paid != "" || r.Count() != 0 {
				t.Errorf("%s: %+v, want found=%t", kind, r, want)
			}
		}
	}
}
