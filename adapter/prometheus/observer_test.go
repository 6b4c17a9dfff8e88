package prometheusadapter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/headgate/headgate"
	prometheusadapter "github.com/headgate/headgate/adapter/prometheus"
	"github.com/headgate/headgate/engine"
)

// away is a store that does not answer.
type away struct{}

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Result) {
	for i := range results {
		results[i].Err = engine.ErrStoreUnavailable
	}
}

func (away) Close() error { return nil }

// A name that no policy can have must not become a label: one such name made every scrape fail.
func TestInvalidNameIsNoLabel(t *testing.T) {
	observer := prometheusadapter.New()
	limiter := headgate.New(headgate.WithObserver(observer.Observe))
	defer limiter.Close()
	for _, name := range []string{"caf\xe9", "(other)", "api"} {
		_, _ = limiter.Policy(name, headgate.FixedWindow(headgate.PerHour(2))).Allow(t.Context(), "a-key")
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

// Known bug 53: each decision is counted under its policy, and a shadow does not count as a denial.
func TestDecisionsByPolicyOutcomeAndMode(t *testing.T) {
	observer := prometheusadapter.New()
	ctx := context.Background()
	limiter := headgate.New(headgate.WithObserver(observer.Observe))
	defer limiter.Close()
	api := limiter.Policy("api", headgate.FixedWindow(headgate.PerHour(2)))
	for range 3 {
		_, _ = api.Allow(ctx, "a-key")
	}
	_, _ = api.Peek(ctx, "a-key", 1)
	_, _ = api.Allow(ctx, "")
	_, _ = limiter.Allow(ctx, "a-key", headgate.FixedWindow(headgate.PerHour(2)))
	_, _ = limiter.AllowAll(ctx, api.For("b-key", 1), limiter.Policy("day", headgate.FixedWindow(headgate.PerDay(1))).For("b-key", 1))
	shadow := engine.Single(engine.OpAllow, "a-key", headgate.FixedWindow(headgate.PerHour(2)), 3)
	shadow.Charges[0].Space, shadow.Shadow = "own:policy:api:shadow", true
	_ = limiter.Do(ctx, []engine.Op{shadow}, nil)
	broken := headgate.New(headgate.WithStore(away{}), headgate.WithObserver(observer.Observe))
	defer broken.Close()
	_, _ = broken.Policy("api", headgate.FixedWindow(headgate.PerHour(2))).Allow(ctx, "a-key")
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
	op, result := engine.Op{Space: "policy:api"}, headgate.Result{}
	if n := testing.AllocsPerRun(100, func() { observer.Observe(context.Background(), &op, &result) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
