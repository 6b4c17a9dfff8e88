package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/metric"
)

// seriesLabels lists the labels of a rule. A rule without a rule above it has no key2.
var seriesLabels = []string{"domain", "key1", "key2"}

// envoyStats are the statistics at a scrape, with the sums of the rules that have the same labels.
type envoyStats struct {
	envoy.Stats
	order [][]string // the labels of each sum
	sums  []envoy.Series
}

// ruleRow returns a counter of rules. Like envoyproxy/ratelimit, it omits a series that has counted nothing.
func ruleRow(name, help string, of func(*envoy.Series) uint64) metric.Row[envoyStats] {
	return metric.Row[envoyStats]{
		Name: "ratelimit_service_rate_limit_" + name, Counter: true, Labels: seriesLabels, Help: help,
		Series: func(s envoyStats, add func(float64, ...string)) {
			for i := range s.sums {
				if n := of(&s.sums[i]); n > 0 {
					add(float64(n), s.order[i]...)
				}
			}
		},
	}
}

var envoyTable = metric.NewTable(
	ruleRow("total_hits", "Hits of a rule.", func(s *envoy.Series) uint64 { return s.TotalHits }),
	ruleRow("over_limit", "Hits over the limit of a rule.", func(s *envoy.Series) uint64 { return s.OverLimit }),
	ruleRow("near_limit", "Hits near the limit of a rule.", func(s *envoy.Series) uint64 { return s.NearLimit }),
	ruleRow("within_limit", "Hits within the limit of a rule.", func(s *envoy.Series) uint64 { return s.WithinLimit }),
	ruleRow("shadow_mode", "Hits over the limit of a rule in shadow mode.", func(s *envoy.Series) uint64 { return s.ShadowMode }),
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

// Envoy collects the statistics of Envoy's rate limit service, under the names that envoyproxy/ratelimit uses for
// Prometheus.
func Envoy(stats func() envoy.Stats) prometheus.Collector {
	return envoyTable.Of(func() envoyStats { return summed(stats()) })
}

// summed adds the rules that have the same labels.
func summed(stats envoy.Stats) envoyStats {
	s := envoyStats{Stats: stats}
	index := map[string]int{}
	for i := range s.Rules {
		rule := &s.Rules[i]
		of := labelsOf(strings.ToValidUTF8(rule.Name, "\uFFFD")) // labels must be valid UTF-8
		name := strings.Join(of, ".")
		at, known := index[name]
		if !known {
			at = len(s.order)
			index[name], s.order, s.sums = at, append(s.order, of), append(s.sums, envoy.Series{})
		}
		sum := &s.sums[at]
		sum.TotalHits += rule.TotalHits
		sum.OverLimit += rule.OverLimit
		sum.NearLimit += rule.NearLimit
		sum.WithinLimit += rule.WithinLimit
		sum.ShadowMode += rule.ShadowMode
	}
	return s
}

// labelsOf returns the values of seriesLabels for the name of a series, such as domain.key1_value.key2. Like the mapping
// of envoyproxy/ratelimit since January 2025, it splits the name at each dot, also at the dots of a domain or value,
// keeps the first three parts and drops the others: rules with the same first three parts are counted together.
func labelsOf(name string) []string {
	parts := strings.SplitN(name, ".", len(seriesLabels)+1)
	return parts[:min(len(parts), len(seriesLabels))]
}
