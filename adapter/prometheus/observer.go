// Package prometheusadapter counts the decisions of a [headgate.Limiter] for Prometheus.
//
//	observer := prometheusadapter.New()
//	prometheus.MustRegister(observer)
//	limiter := headgate.New(headgate.WithObserver(observer.Observe))
//
// The metrics are the same as in the server's /metrics, except for the label frontend:
//
//	headgate_decisions_total{policy, outcome, mode}
//	headgate_shadow_decisions_total{policy, outcome}
//
// The second metric counts the decisions of package policy's shadows, which do not deny or delay requests. Labels never
// contain keys. The label policy is the name of a [headgate.Policy], for up to 1000 policies. It is "(other)" for all
// further policies and for invalid names, and "(inline)" for ad-hoc limits. The label outcome is allowed, denied,
// unknown (no decision was reached) or invalid (the request had an error). Each decision costs one lookup and one
// atomic addition, and never waits for a scrape.
package prometheusadapter

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
)

// Observer counts decisions. It is a [prometheus.Collector], safe for concurrent use.
type Observer struct {
	desc, shadows *prometheus.Desc
	rows          *outcomes.Map[*policyCounters]

	mu  sync.Mutex
	all []*policyCounters
}

// policyCounters holds the counts for one policy.
type policyCounters struct {
	policy string
	counts outcomes.Table[atomic.Uint64]
	shadow outcomes.Table[atomic.Uint64]
}

// New returns an observer whose counts are zero.
func New() *Observer {
	o := &Observer{
		desc:    prometheus.NewDesc("headgate_decisions_total", "Decided requests that take units.", []string{"policy", "outcome", "mode"}, nil),
		shadows: prometheus.NewDesc("headgate_shadow_decisions_total", "What shadows would have decided.", []string{"policy", "outcome"}, nil),
	}
	o.rows = outcomes.NewMap(o.add)
	return o
}

func (o *Observer) add(policy string) *policyCounters {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &policyCounters{policy: policy}
	o.all = append(o.all, r)
	return r
}

func (o *Observer) made() bool { return o != nil && o.rows != nil }

// Observe counts one request. Pass it to [headgate.WithObserver]. An observer that New did not make counts nothing.
func (o *Observer) Observe(_ context.Context, r headgate.Result) {
	if !o.made() {
		return
	}
	row := o.rows.Named(r.Policy)
	if r.Shadow {
		row.shadow.At(r.Decision.Allowed, engine.Exact, r.Err).Add(1)
		return
	}
	row.counts.At(r.Decision.Allowed, r.Decision.Promise.Mode, r.Err).Add(1)
}

// Describe implements [prometheus.Collector].
func (o *Observer) Describe(to chan<- *prometheus.Desc) {
	if !o.made() {
		return
	}
	to <- o.desc
	to <- o.shadows
}

// Collect implements [prometheus.Collector].
func (o *Observer) Collect(to chan<- prometheus.Metric) {
	if !o.made() {
		return
	}
	o.mu.Lock()
	all := slices.Clip(o.all)
	o.mu.Unlock()
	for _, r := range all {
		r.counts.Each(func(outcome, mode string, count *atomic.Uint64) {
			if n := count.Load(); n > 0 {
				to <- prometheus.MustNewConstMetric(o.desc, prometheus.CounterValue, float64(n), r.policy, outcome, mode)
			}
		})
		r.shadow.Each(func(outcome, _ string, count *atomic.Uint64) {
			if n := count.Load(); n > 0 {
				to <- prometheus.MustNewConstMetric(o.shadows, prometheus.CounterValue, float64(n), r.policy, outcome)
			}
		})
	}
}
