package prometheusadapter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/headgate/headgate"
	prometheusadapter "github.com/headgate/headgate/adapter/prometheus"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// away is a store that does not answer.
type away struct{}

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = engine.ErrStoreUnavailable
	}
}

func (away) Close() error { return nil }

// A name that is not valid for a policy must not become a label. Such a name used to make every scrape fail.
func TestInvalidNameIsNotALabel(t *testing.T) {
	observer := prometheusadapter.New()
	limiter := headgate.New(headgate.WithObserver(observer.Observe))
	defer limiter.Close()
	for _, name := range []string{"caf\xe9", "(other)", "api"} {
		_, _ = limiter.PolicyOf(name, rule.FixedWindow(rule.PerHour(2))).Allow(t.Context(), "a-key")
	}
	const want = `
# HELP headgate_decisions_total Decided requests that take units.
# TYPE headgate_decisions_total counter
headgate_decisions_total{mode="",outcome="invalid",policy="(other)"} 2
headgate_decisions_total{mode="exact",outcome="allowed",policy="api"} 1
`
	if err := testutil.CollectAndCompare(observer, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// Regression: bug 53. Each decision is counted under its policy, and a shadow's decision does not count as a denial.
func TestDecisionsByPolicyOutcomeAndMode(t *testing.T) {
	observer := prometheusadapter.New()
	ctx := context.Background()
	limiter := headgate.New(headgate.WithObserver(observer.Observe))
	defer limiter.Close()
	api := limiter.PolicyOf("api", rule.FixedWindow(rule.PerHour(2)))
	for range 3 {
		_, _ = api.Allow(ctx, "a-key")
	}
	_, _ = api.Peek(ctx, "a-key", 1)
	_, _ = api.Allow(ctx, "")
	_, _ = limiter.PolicyOf("", rule.FixedWindow(rule.PerHour(2))).Allow(ctx, "a-key")
	_, _ = limiter.AllowAll(ctx, headgate.Charge{Policy: api, Key: "b-key", Units: 1}, headgate.Charge{Policy: limiter.PolicyOf("day", rule.FixedWindow(rule.PerDay(1))), Key: "b-key", Units: 1})
	shadow := engine.Single(engine.OpAllow, "a-key", rule.FixedWindow(rule.PerHour(2)), 3)
	shadow.Charges[0].Space, shadow.Hints.Shadow = "own:policy:api:shadow", true
	_ = limiter.Core().Decide(ctx, shadow)
	broken := headgate.New(headgate.WithStore(away{}), headgate.WithObserver(observer.Observe))
	defer broken.Close()
	_, _ = broken.PolicyOf("api", rule.FixedWindow(rule.PerHour(2))).Allow(ctx, "a-key")
	const want = `
# HELP headgate_decisions_total Decided requests that take units.
# TYPE headgate_decisions_total counter
headgate_decisions_total{mode="",outcome="invalid",policy="api"} 1
headgate_decisions_total{mode="",outcome="unknown",policy="api"} 1
headgate_decisions_total{mode="exact",outcome="allowed",policy="(inline)"} 1
headgate_decisions_total{mode="exact",outcome="allowed",policy="api"} 2
headgate_decisions_total{mode="exact",outcome="allowed",policy="day"} 1
headgate_decisions_total{mode="exact",outcome="denied",policy="api"} 1
# HELP headgate_shadow_decisions_total What shadows would have decided.
# TYPE headgate_shadow_decisions_total counter
headgate_shadow_decisions_total{outcome="denied",policy="api"} 1
`
	if err := testutil.CollectAndCompare(observer, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(observer); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func TestNoAllocation(t *testing.T) {
	observer := prometheusadapter.New()
	result := headgate.Result{Policy: "api"}
	if n := testing.AllocsPerRun(100, func() { observer.Observe(context.Background(), result) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A nil or zero observer counts nothing, and a registry can collect it: a panic in its goroutines would end the process
// (regression: bug 208).
func TestNilObserver(t *testing.T) {
	for _, o := range []*prometheusadapter.Observer{nil, {}} {
		o.Observe(t.Context(), headgate.Result{})
		registry := prometheus.NewRegistry()
		registry.MustRegister(o)
		if families, err := registry.Gather(); err != nil || len(families) != 0 {
			t.Errorf("%v, %v", families, err)
		}
	}
}
