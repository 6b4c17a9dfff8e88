package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/metric"
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

var secretsTable = metric.NewTable(
	metric.Row[*Secrets]{
		Name: "headgate_wrong_secrets_total", Labels: []string{"frontend"},
		Help: "Secrets and tokens from clients that belong to no user.",
		Series: func(s *Secrets, add func(float64, ...string)) {
			for from := range service.FrontEnds {
				if wrong := s.Wrong(from); wrong > 0 || s.Serving(from) {
					add(float64(wrong), from.String())
				}
			}
		},
	},
)

// Describe implements [prometheus.Collector].
func (*Secrets) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *Secrets) Collect(to chan<- prometheus.Metric) { secretsTable.Collect(s, to) }
