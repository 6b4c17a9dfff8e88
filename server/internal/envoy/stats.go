package envoy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of one rule's statistics. Series are named after values in requests. Names beyond the bounds are counted
// together, in the series "other".
const (
	// MaxSeries is the maximum number of series.
	MaxSeries = 1000
	// MaxSeriesName is the maximum length, in bytes, of a name created by a request. Names in the configuration can
	// be longer.
	MaxSeriesName = 256
)

// ruleStats holds the statistics of one rule. They survive a reload of the configuration.
type ruleStats struct {
	name  string
	total series

	mu     sync.RWMutex
	byName map[string]*series
	other  series
}

func newRuleStats(name string) *ruleStats { return &ruleStats{name: name} }

// named returns the series with a name that was built from a request for detailed_metric or value_to_metric.
func (r *ruleStats) named(name []byte) *series {
	if string(name) == r.name {
		return &r.total
	}
	if len(name) > MaxSeriesName {
		return &r.other
	}
	r.mu.RLock()
	s, full := r.byName[string(name)], len(r.byName) >= MaxSeries
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	if full {
		return &r.other
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = r.byName[string(name)]; s != nil {
		return s
	}
	if len(r.byName) >= MaxSeries {
		return &r.other
	}
	if r.byName == nil {
		r.byName = map[string]*series{}
	}
	s = &series{}
	r.byName[string(name)] = s
	return s
}

// series holds the counters that are exported under one name.
type series struct {
	totalHits, overLimit, nearLimit, withinLimit, shadowMode atomic.Uint64
}

// count adds the hits on one descriptor. The argument before is the number of hits counted before them.
//
// As in envoyproxy/ratelimit, the hits of a request can be split: with a limit of 10, if 8 hits were counted before and
// 5 come now, 2 are near the limit and 3 are over it.
func (s *series) count(hits, before, limit, near uint64, shadow bool) {
	s.totalHits.Add(hits)
	after := before + hits
	switch {
	case after <= limit:
		s.withinLimit.Add(hits)
		if after > near {
			s.nearLimit.Add(min(hits, after-near))
		}
		return
	case before >= limit:
		s.overLimit.Add(hits)
	default:
		s.overLimit.Add(after - limit)
		s.nearLimit.Add(limit - max(near, before))
	}
	if shadow {
		s.shadowMode.Add(min(hits, after-limit))
	}
}

// Series contains the counters for one name, as envoyproxy/ratelimit names them.
type Series struct {
	// Name is domain.key_value.key…. For values beyond [MaxSeries], and for names longer than [MaxSeriesName], it is
	// the rule's name followed by ".other".
	Name        string
	TotalHits   uint64 // total_hits
	OverLimit   uint64 // over_limit
	NearLimit   uint64 // near_limit
	WithinLimit uint64 // within_limit
	ShadowMode  uint64 // shadow_mode
}

func (s *series) read(name string) Series {
	return Series{
		Name: sanitized(name), TotalHits: s.totalHits.Load(), OverLimit: s.overLimit.Load(), NearLimit: s.nearLimit.Load(),
		WithinLimit: s.withinLimit.Load(), ShadowMode: s.shadowMode.Load(),
	}
}

// read returns a rule's series: first its own, and then the series of its values, sorted by name. The series "other"
// comes last, if it has counted a hit or if there are [MaxSeries] values.
func (r *ruleStats) read() []Series {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := []Series{r.total.read(r.name)}
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		list = append(list, r.byName[name].read(name))
	}
	if other := r.other.read(r.name + ".other"); other.TotalHits > 0 || len(r.byName) >= MaxSeries {
		list = append(list, other)
	}
	return list
}

var (
	addresses   = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)
	punctuation = strings.NewReplacer(":", "_", "|", "_")
)

// sanitized replaces characters that are not allowed in the names of statistics, like envoyproxy/ratelimit does.
func sanitized(name string) string {
	return addresses.ReplaceAllStringFunc(punctuation.Replace(name), func(address string) string {
		return strings.ReplaceAll(address, ".", "_")
	})
}

// Stats holds the statistics of the service. It excludes rules that a reload has removed.
type Stats struct {
	Rules             []Series
	ConfigLoadSuccess uint64 // config_load_success
	ConfigLoadError   uint64 // config_load_error
	GlobalShadowMode  uint64 // global_shadow_mode
	StoreError        uint64 // call.should_rate_limit.redis_error
	ServiceError      uint64 // call.should_rate_limit.service_error
	DomainNotFound    uint64 // domain_not_found, for all domains together
}

// counters holds the statistics that belong to no rule.
type counters struct {
	loadSuccess, loadError, globalShadow, storeError, serviceError, domainNotFound atomic.Uint64
}
