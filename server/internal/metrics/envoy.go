package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/envoy"
)

// Envoy collects the statistics of Envoy's rate limit service, under the names that envoyproxy/ratelimit uses for
// Prometheus.
type Envoy struct {
	// Stats returns the statistics.
	Stats func() envoy.Stats
}

// seriesLabels lists the labels of a rule. The label key2 is set if the rule is nested in another rule.
var seriesLabels = []string{"domain", "key1", "key2"}

func envoyDesc(name, help string, labels ...string) *prometheus.Desc {
	describe("ratelimit_service_"+name, labels...)
	return prometheus.NewDesc("ratelimit_service_"+name, help, labels, nil)
}

var (
	envoyTotal   = envoyDesc("rate_limit_total_hits", "Hits of a rule.", seriesLabels...)
	envoyOver    = envoyDesc("rate_limit_over_limit", "Hits over the limit of a rule.", seriesLabels...)
	envoyNear    = envoyDesc("rate_limit_near_limit", "Hits near the limit of a rule.", seriesLabels...)
	envoyWithin  = envoyDesc("rate_limit_within_limit", "Hits within the limit of a rule.", seriesLabels...)
	envoyShadow  = envoyDesc("rate_limit_shadow_mode", "Hits over the limit of a rule in shadow mode.", seriesLabels...)
	envoyLoaded  = envoyDesc("config_load_success", "Configurations that were loaded.")
	envoyFailed  = envoyDesc("config_load_error", "Configurations that could not be loaded.")
	envoyErrors  = envoyDesc("should_rate_limit_error", "Requests that were answered with an error.", "err_type")
	envoyGlobal  = envoyDesc("global_shadow_mode", "Requests that were over a limit and were allowed in global shadow mode.")
	envoyUnknown = envoyDesc("rate_limit_domain_not_found", "Requests of a domain that no file has.")
)

// Describe implements [prometheus.Collector]. The series depend on the configuration.
func (*Envoy) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (e *Envoy) Collect(to chan<- prometheus.Metric) {
	stats := e.Stats()
	to <- counter(envoyLoaded, float64(stats.ConfigLoadSuccess))
	to <- counter(envoyFailed, float64(stats.ConfigLoadError))
	to <- counter(envoyGlobal, float64(stats.GlobalShadowMode))
	to <- counter(envoyUnknown, float64(stats.DomainNotFound))
	to <- counter(envoyErrors, float64(stats.StoreError), "redis_error")
	to <- counter(envoyErrors, float64(stats.ServiceError), "service_error")
	sums, order := map[labels]*envoy.Series{}, []labels(nil)
	for i := range stats.Rules {
		of := labelsOf(strings.ToValidUTF8(stats.Rules[i].Name, "\uFFFD")) // labels must be valid UTF-8
		sum := sums[of]
		if sum == nil {
			sum = &envoy.Series{}
			sums[of], order = sum, append(order, of)
		}
		sum.TotalHits += stats.Rules[i].TotalHits
		sum.OverLimit += stats.Rules[i].OverLimit
		sum.NearLimit += stats.Rules[i].NearLimit
		sum.WithinLimit += stats.Rules[i].WithinLimit
		sum.ShadowMode += stats.Rules[i].ShadowMode
	}
	for _, of := range order {
		sum := sums[of]
		to <- counter(envoyTotal, float64(sum.TotalHits), of[:]...)
		to <- counter(envoyOver, float64(sum.OverLimit), of[:]...)
		to <- counter(envoyNear, float64(sum.NearLimit), of[:]...)
		to <- counter(envoyWithin, float64(sum.WithinLimit), of[:]...)
		to <- counter(envoyShadow, float64(sum.ShadowMode), of[:]...)
	}
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
