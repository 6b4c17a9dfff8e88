package metrics

import (
	"math"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/audit"
	"github.com/headgate/headgate/server/internal/metric"
)

// Audit are the metrics of an auditor's measurements.
var Audit = metric.NewTable(
	metric.Row[[]audit.Figures]{
		Name: "headgate_audit_units_total", Labels: []string{"policy"},
		Help: "Units of sampled keys that this server admitted.",
		Series: func(s []audit.Figures, add func(float64, ...string)) {
			for _, f := range s {
				add(float64(f.Units), f.Policy)
			}
		},
	},
	metric.Row[[]audit.Figures]{
		Name: "headgate_audit_over_units_total", Labels: []string{"policy"},
		Help: "Those of them that exceeded a limit.",
		Series: func(s []audit.Figures, add func(float64, ...string)) {
			for _, f := range s {
				add(float64(f.Over), f.Policy)
			}
		},
	},
	metric.Row[[]audit.Figures]{
		Name: "headgate_audit_bound_units", Labels: []string{"policy"},
		Help: "The largest excess over the limit, in units, that one of these answers allowed for; +Inf if one stated no bound.",
		Series: func(s []audit.Figures, add func(float64, ...string)) {
			for _, f := range s {
				bound := float64(f.Bound)
				if f.Bound == engine.Unbounded {
					bound = math.Inf(1)
				}
				add(bound, f.Policy)
			}
		},
	},
)
