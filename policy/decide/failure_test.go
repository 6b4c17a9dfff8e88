package decide_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// TestFailureModesReachTheLayers checks that the failure mode sets two hints of the operation for a policy, an inline
// limit or items: whether the process may answer from its share, and whether it trusts a store that has lost data.
func TestFailureModesReachTheLayers(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  deny:  {algorithm: fixed-window, limit: 9, window: 1h, failure: deny}
  local: {algorithm: fixed-window, limit: 9, window: 1h}
  allow: {algorithm: fixed-window, limit: 9, window: 1h, failure: allow}
`))
	if err != nil {
		t.Fatal(err)
	}
	for failure, want := range map[policy.Failure]string{policy.Deny: "false false", policy.Local: "true false", policy.Allow: "false true"} {
		name, limit := failure.String(), rule.FixedWindow(rule.PerHour(9))
		var marks []string
		limiter := headgate.New(headgate.WithCore(func(c *core.Config) {
			c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
				marks = append(marks, fmt.Sprint(!op.Hints.NoShare, op.Hints.Lenient))
			}
		}))
		requests := []decide.Request{
			{Item: decide.Item{Policy: name, Key: "k"}},
			{Item: decide.Item{Limit: limit, Key: "k"}},
			{Item: decide.Item{Limit: limit, Inline: &decide.InlineRules{Space: "own", Failure: failure}, Key: "k"}},
			{Items: []decide.Item{{Policy: name, Key: "k"}, {Policy: "allow", Key: "k"}}},
		}
		filelimit.New(config, limiter, filelimit.WithFailure(failure)).Do(t.Context(), requests, make([]decide.Response, len(requests)))
		_ = limiter.Close()
		if len(marks) != len(requests) {
			t.Fatalf("%s: %d operations", name, len(marks))
		}
		for i, got := range marks {
			if got != want {
				t.Errorf("%s: request %d has local and lenient %s, want %s", name, i, got, want)
			}
		}
	}
}
