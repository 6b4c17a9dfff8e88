package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/metric"
)

// Envoy collects the statistics of Envoy's rate limit service, under the names that envoyproxy/ratelimit uses for
// Prometheus.
type Envoy struct {
	// Stats returns the statistics.
	Stats func() envoy.Stats
}

// seriesLabels lists the labels of a rule. The label key2 is set if the rule is nested in another rule.
var seriesLabels = []string{"domain", "key1", "key2"}

// envoyStats are the statistics at a scrape, with the sums of the rules that have the same labels.
type envoyStats struct {
	envoy.Stats
	order []labels
	sums  []envoy.Series
}

var envoyTable = metric.NewTable(
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_total_hits", Counter: true, Labels: seriesLabels,
		Help: "Hits of a rule.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i, of := range s.order {
				add(float64(s.sums[i].TotalHits), of[:]...)
			}
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_over_limit", Counter: true, Labels: seriesLabels,
		Help: "Hits over the limit of a rule.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i, of := range s.order {
				add(float64(s.sums[i].OverLimit), of[:]...)
			}
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_near_limit", Counter: true, Labels: seriesLabels,
		Help: "Hits near the limit of a rule.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i, of := range s.order {
				add(float64(s.sums[i].NearLimit), of[:]...)
			}
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_within_limit", Counter: true, Labels: seriesLabels,
		Help: "Hits within the limit of a rule.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i, of := range s.order {
				add(float64(s.sums[i].WithinLimit), of[:]...)
			}
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_shadow_mode", Counter: true, Labels: seriesLabels,
		Help: "Hits over the limit of a rule in shadow mode.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i, of := range s.order {
				add(float64(s.sums[i].ShadowMode), of[:]...)
			}
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_config_load_success", Counter: true,
		Help:  "Configurations that were loaded.",
		Value: func(s envoyStats) float64 { return float64(s.ConfigLoadSuccess) },
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_config_load_error", Counter: true,
		Help:  "Configurations that could not be loaded.",
		Value: func(s envoyStats) float64 { return float64(s.ConfigLoadError) },
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_should_rate_limit_error", Counter: true, Labels: []string{"err_type"},
		Help: "Requests that were answered with an error.",
		Series: func(s envoyStats, add func(float64, ...string)) {
			add(float64(s.StoreError), "redis_error")
			add(float64(s.ServiceError), "service_error")
		},
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_global_shadow_mode", Counter: true,
		Help:  "Requests that were over a limit and were allowed in global shadow mode.",
		Value: func(s envoyStats) float64 { return float64(s.GlobalShadowMode) },
	},
	metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_domain_not_found", Counter: true,
		Help:  "Requests of a domain that no file has.",
		Value: func(s envoyStats) float64 { return float64(s.DomainNotFound) },
	},
)

// Describe implements [prometheus.Collector]. The series depend on the configuration.
func (*Envoy) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (e *Envoy) Collect(to chan<- prometheus.Metric) {
	s := envoyStats{Stats: e.Stats()}
	index := map[labels]int{}
	for i := range s.Rules {
		rule := &s.Rules[i]
		of := labelsOf(strings.ToValidUTF8(rule.Name, "\uFFFD")) // labels must be valid UTF-8
		at, known := index[of]
		if !known {
			at = len(s.order)
			index[of], s.order, s.sums = at, append(s.order, of), append(s.sums, envoy.Series{})
		}
		sum := &s.sums[at]
		sum.TotalHits += rule.TotalHits
		sum.OverLimit += rule.OverLimit
		sum.NearLimit += rule.NearLimit
		sum.WithinLimit += rule.WithinLimit
		sum.ShadowMode += rule.ShadowMode
	}
	envoyTable.Collect(s, to)
}

// labels holds the values of seriesLabels.
type labels [3]string

// labelsOf splits the name of a series, such as domain.key1_value.key2, as envoyproxy/ratelimit's mapping does. If
// there are four or more parts it drops the last one, so rules that differ only in that part are counted together. In
// envoyproxy/ratelimit, a name with three parts results in a longer metric name without labels; here its third part is
// key2.
func labelsOf(name string) (of labels) {
	parts := strings.Split(name, ".")
	if n := len(parts); n > 3 {
		return labels{strings.Join(parts[:n-3], "."), parts[n-3], parts[n-2]}
	}
	copy(of[:], parts)
	return of
}
