package metrics_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/service"
)

// called returns one call on a front end, with the given duration and answers.
func called(from service.FrontEnd, took time.Duration, answers ...engine.Answer) *service.Observed {
	o := &service.Observed{FrontEnd: from, Took: took}
	for _, d := range answers {
		o.Requests = append(o.Requests, decide.Request{Kind: engine.OpAllow})
		o.Responses = append(o.Responses, decide.Response{Answer: d})
	}
	return o
}

// TestDecisionsByOutcomeAndMode checks that the tallies of all front ends are added up, and that a policy without
// decisions has no tally.
func TestDecisionsByOutcomeAndMode(t *testing.T) {
	m := metrics.New("v1")
	m.Decisions(func(policy string, _ *metrics.Tally) { t.Errorf("%s before the first request", policy) })
	exact, leased := engine.Promise{Mode: engine.Exact}, engine.Promise{Mode: engine.Leased}
	m.Observe(called(service.RESP, 0, engine.Answer{Allowed: true, Promise: exact}, engine.Answer{Promise: exact}))
	m.Observe(called(service.HTTP, 0, engine.Answer{Allowed: true, Promise: leased}))
	seen := 0
	m.Decisions(func(policy string, tally *metrics.Tally) {
		seen++
		if policy != service.InlinePolicy || tally.Sum(outcomes.Allowed) != 2 || tally.Sum(outcomes.Denied) != 1 || tally.Sum(outcomes.Unknown) != 0 ||
			tally.InMode(engine.Exact) != 2 || tally.InMode(engine.Leased) != 1 {
			t.Errorf("%s: %v", policy, tally)
		}
	})
	if seen != 1 {
		t.Errorf("%d policies, want 1", seen)
	}
}

// TestLatencyQuantiles checks that quantiles are at most 10 % above the true value, cover only the calls since an
// earlier reading, and exclude operators' calls.
func TestLatencyQuantiles(t *testing.T) {
	m := metrics.New("v1")
	before := m.Latency()
	if _, _, ok := before.Quantiles(nil, 0.5); ok {
		t.Error("there are quantiles before the first call")
	}
	within := func(got, want float64) bool { return got >= want && got <= want*1.1 }
	for i := range 1000 {
		from := service.FrontEnd(i % 2)
		m.Observe(called(from, time.Duration(i+1)*100*time.Microsecond)) // 0.1 to 100 ms
		m.Observe(called(service.Admin, time.Minute))
	}
	first := m.Latency()
	times, calls, ok := first.Quantiles(before, 0.5, 0.99, 1)
	if !ok || calls != 1000 || !within(times[0], 0.050) || !within(times[1], 0.099) || !within(times[2], 0.100) {
		t.Errorf("%v of %d calls", times, calls)
	}
	for range 10 {
		m.Observe(called(service.GRPC, 3*time.Microsecond))
	}
	times, calls, ok = m.Latency().Quantiles(first, 0.5, 0.99)
	if !ok || calls != 10 || !within(times[0], 3e-6) || !within(times[1], 3e-6) {
		t.Errorf("since the reading before: %v of %d calls", times, calls)
	}
	if _, _, ok := m.Latency().Quantiles(m.Latency(), 0.5); ok {
		t.Error("there are quantiles without a call")
	}
}
