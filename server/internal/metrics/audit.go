package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/audit"
)

// Audit is the [prometheus.Collector] for an auditor's measurements.
type Audit struct {
	// Figures returns the measurements.
	Figures func() []audit.Figures
}

var (
	auditedUnits = desc("audit_units_total", "Units of sampled keys that this server admitted.", "policy")
	auditedOver  = desc("audit_over_units_total", "Those of them that exceeded a limit.", "policy")
	auditedBound = desc("audit_bound_units", "The largest excess over the limit, in units, that one of these answers allowed for; +Inf if one stated no bound.", "policy")
)

// Describe implements [prometheus.Collector].
func (*Audit) Describe(to chan<- *prometheus.Desc) { to <- auditedUnits }

// Collect implements [prometheus.Collector].
func (a *Audit) Collect(to chan<- prometheus.Metric) {
	for _, f := range a.Figures() {
		bound := float64(f.Bound)
		if f.Bound == engine.Unbounded {
			bound = math.Inf(1)
		}
		to <- counter(auditedUnits, float64(f.Units), f.Policy)
		to <- counter(auditedOver, float64(f.Over), f.Policy)
		to <- gauge(auditedBound, bound, f.Policy)
	}
}
