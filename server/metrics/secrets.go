package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/service"
)

// Secrets are the wrong secrets that clients have shown.
type Secrets struct {
	// Wrong returns how many there were on a front end.
	Wrong func(from service.FrontEnd) uint64
	// Serving reports whether a front end is on. One that is off and was shown none has no series.
	Serving func(from service.FrontEnd) bool
}

var wrongSecrets = desc("wrong_secrets_total", "Secrets and tokens that clients have shown and that no user has.", "frontend")

// Describe implements [prometheus.Collector].
func (*Secrets) Describe(to chan<- *prometheus.Desc) { to <- wrongSecrets }

// Collect implements [prometheus.Collector].
func (s *Secrets) Collect(to chan<- prometheus.Metric) {
	for from := range service.FrontEnds {
		if wrong := s.Wrong(from); wrong > 0 || s.Serving(from) {
			to <- counter(wrongSecrets, float64(wrong), from.String())
		}
	}
}
