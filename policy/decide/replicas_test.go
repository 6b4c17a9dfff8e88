package decide_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
)

// An operation on a policy waits for the policy's replicas. An operation on a route waits for enough replicas to
// satisfy all of the route's policies. For a policy with "all", its own setting counts. Shadows do not wait.
func TestPoliciesWaitForReplicas(t *testing.T) {
	const file = `
policies:
  one:  {algorithm: fixed-window, limit: 9, window: 1h, replicas: 1}
  two:  {algorithm: fixed-window, limit: 9, window: 1h, replicas: 2, replica_timeout: 5ms, shadow: {limit: 3}}
  none: {algorithm: fixed-window, limit: 9, window: 1h}
  both: {all: [one, none]}
routes:
  - {match: {path: /}, key: [{const: k}], policies: [none, two, one]}
`
	config, err := policy.Parse("replicas.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	limiter := headgate.New(operate.WithObserver(func(_ context.Context, op *engine.Op, _ *operate.Result) {
		waits = append(waits, op.Replicas.String())
	}))
	defer limiter.Close()
	bound := decide.New(config, limiter)
	for _, c := range []struct {
		policy string
		want   []string
	}{
		{"one", []string{"1 within 20ms"}},
		{"two", []string{"2 within 5ms", "none"}},
		{"none", []string{"none"}},
		{"both", []string{"none"}},
		{"", []string{"2 within 20ms", "none"}}, // the route
	} {
		waits = nil
		if c.policy == "" {
			_, err = bound.AllowRequest(httptest.NewRequest(http.MethodGet, "/", nil))
		} else {
			_, err = bound.Allow(t.Context(), c.policy, "k")
		}
		if err != nil || !slices.Equal(waits, c.want) {
			t.Errorf("policy %q waits for %q, want %q: %v", c.policy, waits, c.want, err)
		}
	}
	if names := config.Policies.Replicated(); !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("policies with replicas: %q", names)
	}
}
