// Package prometheusadapter counts the decisions of a [headgate.Limiter] for Prometheus.
//
//	observer := prometheusadapter.New()
//	prometheus.MustRegister(observer)
//	limiter := headgate.New(headgate.WithObserver(observer.Observe))
//
// The metrics are those of the server's /metrics, without its label frontend:
//
//	headgate_decisions_total{policy, outcome, mode}
//
// A label is never a key. The policy is the name of a [headgate.Policy], at most 1000 of
// them; "(other)" are the others, and "(inline)" are ad-hoc limits. The outcome is allowed,
// denied, unknown (the store failed) or invalid (an error of the request). A decision costs
// one look-up and one atomic addition more, and does not wait for a scrape.
package prometheusadapter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/spaces"
)

const modes = int(engine.Leased) + 1

// The outcomes.
const (
	allowed = iota
	denied
	unknown
	invalid
	outcomes
)

var outcomeNames = [outcomes]string{"allowed", "denied", "unknown", "invalid"}

// Observer counts decisions. It is a [prometheus.Collector], safe for concurrent use.
type Observer struct {
	desc *prometheus.Desc
	rows *spaces.Map[*row]

	mu  sync.Mutex
	all []*row
}

// row is the counts of one policy.
type row struct {
	policy string
	counts [outcomes][modes]atomic.Uint64
}

// New returns an observer that has counted nothing.
func New() *Observer {
	o := &Observer{desc: prometheus.NewDesc("headgate_decisions_total", "Decided requests that take units.", []string{"policy", "outcome", "mode"}, nil)}
	o.rows = spaces.New(o.add)
	return o
}

func (o *Observer) add(policy string) *row {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &row{policy: policy}
	o.all = append(o.all, r)
	return r
}

// Observe counts one operation if it takes units. It is a [headgate.Observer].
func (o *Observer) Observe(_ context.Context, op *engine.Op, r *headgate.Result) {
	if !op.Kind.Takes() {
		return
	}
	counts := &o.rows.Of(op.Space).counts
	switch d := &r.Decision; {
	case errors.Is(r.Err, headgate.ErrStoreUnavailable):
		counts[unknown][0].Add(1)
	case r.Err != nil:
		counts[invalid][0].Add(1)
	case d.Allowed:
		counts[allowed][min(int(d.Promise.Mode), modes-1)].Add(1)
	default:
		counts[denied][min(int(d.Promise.Mode), modes-1)].Add(1)
	}
}

// Describe implements [prometheus.Collector].
func (o *Observer) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements [prometheus.Collector].
func (o *Observer) Collect(to chan<- prometheus.Metric) {
	o.mu.Lock()
	all := slices.Clip(o.all)
	o.mu.Unlock()
	for _, r := range all {
		for outcome := range r.counts {
			for mode := range r.counts[outcome] {
				n := r.counts[outcome][mode].Load()
				if n == 0 {
					continue
				}
				name := engine.Mode(mode).String()
				if outcome >= unknown {
					name = ""
				}
				to <- prometheus.MustNewConstMetric(o.desc, prometheus.CounterValue, float64(n), r.policy, outcomeNames[outcome], name)
			}
		}
	}
}
