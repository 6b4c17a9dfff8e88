package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/service"
)

// Secrets collects the metrics of wrong secrets from clients.
type Secrets struct {
	// Wrong returns the number of wrong secrets on a front end.
	Wrong func(from service.FrontEnd) uint64
	// Serving reports whether a front end is enabled. A disabled front end gets a series only if it has counted wrong
	// secrets.
	Serving func(from service.FrontEnd) bool
}

var wrongSecrets = desc("wrong_secrets_total", "Secrets and tokens from clients that belong to no user.", "frontend")

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
