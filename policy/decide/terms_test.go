package decide_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

const termPolicies = `
policies:
  tokens: {algorithm: fixed-window, limit: 100, window: 1h, estimate_max: capacity, settle_within: 10s, unsettled: estimate}
  calls:  {algorithm: fixed-window, limit: 10, window: 1h, settle_within: 1h}
  stream: {algorithm: concurrency, limit: 1, lease: 30s}
`

// A reservation that is never settled is charged its estimate, even if estimate_max lowered the initial charge. Its
// permit is released. A renewal restarts the term.
func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("x.yaml", []byte(termPolicies))
		if err != nil {
			t.Fatal(err)
		}
		limiter := headgate.New()
		l := filelimit.New(config, limiter)
		reserve := decide.Request{Kind: engine.OpReserve, Items: []decide.Item{
			{Policy: "calls", Key: "ann"}, {Policy: "tokens", Key: "ann", Cost: 150, HasCost: true}, {Policy: "stream", Key: "org"},
		}}
		first := ask(t, l, reserve)
		if first.Err != nil || !first.Allowed || first.SettleWithin != 10*time.Second {
			t.Fatalf("%+v", first)
		}
		time.Sleep(8 * time.Second)
		renew := decide.Request{Kind: engine.OpRenew, Reservation: first.Reservation}
		if r := ask(t, l, renew); r.Err != nil || !r.Allowed || r.Lease != 10*time.Second {
			t.Fatalf("renewed: %+v", r)
		}
		time.Sleep(8 * time.Second)
		left := func(policy string, want int64) {
			t.Helper()
			if d, err := l.Peek(t.Context(), policy, "ann", 0); err != nil || d.Remaining != want {
				t.Errorf("%s has %d left, %v; want %d", policy, d.Remaining, err, want)
			}
		}
		left("calls", 9)
		left("tokens", 0)
		time.Sleep(4 * time.Second)
		if r := ask(t, l, renew); r.Err != nil || r.Allowed {
			t.Errorf("renewed after its term: %+v", r)
		}
		// The reservation was charged 150 units when its term ended, although the capacity is 100: a give of 60 leaves
		// 10.
		if d, err := l.Give(t.Context(), "tokens", "ann", 60); err != nil || d.Remaining != 10 {
			t.Errorf("%d left after 60 were given back of 150, %v; want 10", d.Remaining, err)
		}
		if again := ask(t, l, decide.Request{Kind: engine.OpAcquire, Item: decide.Item{Policy: "stream", Key: "org"}}); !again.Allowed {
			t.Errorf("the permit is held still: %+v", again)
		}
		if err := limiter.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTermOfSeveralLimits checks that a reserve under a policy with "all" or "first" has the shortest term of this policy
// and of those that it lists, without shadows (regression: bug 250).
func TestTermOfSeveralLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("x.yaml", []byte(`
policies:
  free:  {algorithm: fixed-window, limit: 9, window: 1h}
  bound: {algorithm: fixed-window, limit: 9, window: 1h, settle_within: 10s}
  quiet: {algorithm: fixed-window, limit: 9, window: 1h, settle_within: 5s, shadow: true}
  own:   {all: [free, quiet], settle_within: 20s}
  both:  {all: [bound, free], settle_within: 20s}
  any:   {first: [free, bound]}
  none:  {all: [free, quiet]}
`))
		if err != nil {
			t.Fatal(err)
		}
		limiter := headgate.New()
		defer limiter.Close()
		l := filelimit.New(config, limiter)
		for name, within := range map[string]time.Duration{"own": 20 * time.Second, "both": 10 * time.Second, "any": 10 * time.Second, "none": 0} {
			answer := ask(t, l, decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: name, Key: "k"}})
			if answer.Err != nil || answer.Reservation == "" || answer.SettleWithin != within {
				t.Errorf("%s: the term is %s, %v; want %s", name, answer.SettleWithin, answer.Err, within)
			}
		}
	})
}
