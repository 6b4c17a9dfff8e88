// Package metrics counts the server's decisions, and exports them to Prometheus.
//
// Labels are bounded: a policy is one from the file, "(inline)" or "(other)". Keys are never labels.
//
//	metrics.go    the registry, and the answer to a scrape
//	decisions.go  decisions by policy, outcome, mode and front end
//	store.go      calls to the store, and the state of the server
//	layers.go     the counts of the stores and layers
//	listen.go     connections and bytes
//	refused.go    requests that are refused before a decision, and wrong secrets
//	files.go      files with errors, and the ends of certificates
//	envoy.go      the names of envoyproxy/ratelimit
package metrics

import (
	"maps"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/service"
)

const (
	// namespace is the prefix of every metric's name.
	namespace = "headgate"
	// maxScrapes is the maximum number of concurrent scrapes. Further scrapes get status 503.
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Metrics holds the metrics of one server. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	table    atomic.Pointer[table]
	verbs    [service.FrontEnds][verbCount]atomic.Uint64
	took     [service.FrontEnds]prometheus.Histogram
	sizes    [service.FrontEnds]prometheus.Histogram

	storeCall, storeWait, storeOps prometheus.Histogram
	listeners                      [service.FrontEnds]listenerCounts
	reloads                        [2]atomic.Uint64 // failed, succeeded
	files                          files
}

// New returns metrics with zero counts.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.SetPolicies(nil)
	for f := range service.FrontEnds {
		m.took[f] = ofFrontEnd(f, "decision_seconds", "How long calls of front ends took to decide. A call is one request, or all requests that arrived together.", seconds)
		m.sizes[f] = ofFrontEnd(f, "decision_requests", "How many requests the calls of front ends had.", counts)
	}
	m.storeCall = histogram("store_call_seconds", "How long calls of a store on Redis took.", seconds)
	m.storeWait = histogram("store_queue_seconds", "How long the first operation of a call waited until the call was sent.", seconds)
	m.storeOps = histogram("store_call_operations", "How many operations a call of the store has.", counts)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "The version of the server and of Go; the value is 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(calls{m}, m.storeCall, m.storeWait, m.storeOps, build,
		decisions.Of(m.self), listens.Of(m.self), reloads.Of(m.self), filesTable.Of(m.self),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) self() *Metrics { return m }

// Add registers a collector that is read at each scrape.
func (m *Metrics) Add(c prometheus.Collector) error { return m.registry.Register(c) }

// Gatherer returns all metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler answers scrapes in a format that the scraper accepts. Native histograms are available only in protocol
// buffers.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout,
	})
}

// SetPolicies gives each policy its counters. Policies that existed before keep their counters.
func (m *Metrics) SetPolicies(set *policy.Set) {
	for {
		before := m.table.Load()
		if m.table.CompareAndSwap(before, newTable(set, before)) {
			return
		}
	}
}

// Reloaded counts an activation of policies, or an attempt that failed, such as a file with errors.
func (m *Metrics) Reloaded(err error) {
	if err != nil {
		m.reloads[0].Add(1)
		return
	}
	m.reloads[1].Add(1)
}

// Upper bounds of the buckets of the classic histograms: durations in seconds, and numbers of requests or operations.
var (
	seconds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1}
	counts  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}
)

func init() {
	maps.Copy(metric.Described, map[string][]string{
		namespace + "_decision_seconds":      {"frontend"},
		namespace + "_decision_requests":     {"frontend"},
		namespace + "_store_call_seconds":    nil,
		namespace + "_store_queue_seconds":   nil,
		namespace + "_store_call_operations": nil,
		namespace + "_build_info":            {"version", "goversion"},
	})
}

// options returns the options for a histogram that is exported in both the classic and the native form.
func options(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(options(name, help, buckets))
}

func ofFrontEnd(f service.FrontEnd, name, help string, buckets []float64) prometheus.Histogram {
	o := options(name, help, buckets)
	o.ConstLabels = prometheus.Labels{"frontend": f.String()}
	return prometheus.NewHistogram(o)
}

// calls collects the front ends' histograms. It omits a disabled front end without decisions.
type calls struct{ m *Metrics }

// Describe implements [prometheus.Collector].
func (c calls) Describe(to chan<- *prometheus.Desc) {
	for f := range service.FrontEnds {
		to <- c.m.took[f].Desc()
		to <- c.m.sizes[f].Desc()
	}
}

// Collect implements [prometheus.Collector].
func (c calls) Collect(to chan<- prometheus.Metric) {
	for f := range service.FrontEnds {
		var took dto.Metric
		if c.m.Serving(f) || c.m.took[f].Write(&took) == nil && took.GetHistogram().GetSampleCount() > 0 {
			to <- c.m.took[f]
			to <- c.m.sizes[f]
		}
	}
}

// oneIf returns the value of a gauge that is either 1 or 0.
func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
