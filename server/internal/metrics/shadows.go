package metrics

import (
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/metric"
)

// Shadows are the metrics of policies with a shadow.
var Shadows = metric.NewTable(
	// All four series of a policy exist from the start, so that the first disagreement already appears as an increase.
	metric.Row[[]adminapi.Shadow]{
		Name: "headgate_shadow_compared_total", Labels: []string{"policy", "live", "in_force"},
		Help: "Requests that take units by their answer, live, and by the answer with the policy's shadow in force. The counts begin anew where the limits change.",
		Series: func(shadows []adminapi.Shadow, add func(float64, ...string)) {
			for _, c := range shadows {
				add(float64(c.BothAllowed), c.Policy, "allowed", "allowed")
				add(float64(c.BothDenied), c.Policy, "denied", "denied")
				add(float64(c.NewlyDenied), c.Policy, "allowed", "denied")
				add(float64(c.NewlyAllowed), c.Policy, "denied", "allowed")
			}
		},
	},
)
