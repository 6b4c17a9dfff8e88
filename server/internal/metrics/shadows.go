package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// Shadows collects the metrics of policies with a shadow.
type Shadows struct {
	// Compare returns the counts.
	Compare func() []adminapi.Shadow
}

var comparedDesc = desc("shadow_compared_total",
	"Requests that take units by their answer, live, and by the answer with the policy's shadow in force. The counts begin anew where the limits change.",
	"policy", "live", "in_force")

// Describe implements [prometheus.Collector].
func (*Shadows) Describe(to chan<- *prometheus.Desc) { to <- comparedDesc }

// Collect implements [prometheus.Collector]. All four series of a policy exist from the start, so that the first
// disagreement already appears as an increase.
func (s *Shadows) Collect(to chan<- prometheus.Metric) {
	for _, c := range s.Compare() {
		for _, one := range []struct {
			n             uint64
			live, inForce string
		}{
			{c.BothAllowed, "allowed", "allowed"},
			{c.BothDenied, "denied", "denied"},
			{c.NewlyDenied, "allowed", "denied"},
			{c.NewlyAllowed, "denied", "allowed"},
		} {
			to <- counter(comparedDesc, float64(one.n), c.Policy, one.live, one.inForce)
		}
	}
}
