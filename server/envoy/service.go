package envoy

import (
	"context"
	"sync"
	"sync/atomic"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

// Semantics says whose rules a request is decided by.
type Semantics uint8

const (
	// Theirs is how envoyproxy/ratelimit decides: each descriptor on its own, and every
	// hit is counted, also the refused ones.
	Theirs Semantics = iota
	// Improved charges all descriptors of a request or none, so that a refused request
	// uses up no quota elsewhere, and never counts a refused hit.
	Improved
)

// Failure is what a request is answered whose decision is not known.
type Failure uint8

const (
	// FailUnset answers the error: gRPC Unknown, as envoyproxy/ratelimit does, and
	// Unavailable with the improved semantics.
	FailUnset Failure = iota
	// FailDeny answers the error: gRPC Unavailable.
	FailDeny
	// FailLocal answers by this process's share of the limits, if the store has the layer
	// fallback in front of it, and otherwise as FailDeny does.
	FailLocal
	// FailAllow answers OK.
	FailAllow
)

// Options are the settings of a service.
type Options struct {
	Semantics Semantics
	Failure   Failure
	LoadOptions
	// Shadow answers OK to every request, and counts as always.
	Shadow bool
	// Quota makes every rule one with quota_mode.
	Quota bool
	// DynamicMetadata adds the request's descriptors and the rules' metadata to answers.
	DynamicMetadata bool
	// Headers are the names of the rate-limit headers that Envoy adds to responses.
	Headers Headers
	// HashKeys are the secrets that keys are hashed with, and values in the names of
	// statistics; nil leaves them as they are.
	HashKeys *keyhash.File
	// NeedDomain makes Ready an error while the configuration has no domain.
	NeedDomain bool
}

// Headers are names of HTTP headers.
type Headers struct {
	Enabled                 bool
	Limit, Remaining, Reset string
}

// DefaultHeaders are the names unless the environment has others.
var DefaultHeaders = Headers{Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset"}

// Decide decides operations on the store. An error in a result means that its decision is
// not known.
type Decide func(ctx context.Context, ops []engine.Op, results []headgate.Result)

// Service answers rate limit requests by a configuration, which can be replaced at any
// time. It is safe for concurrent use.
type Service struct {
	options  Options
	decide   Decide
	config   atomic.Pointer[Config]
	counters counters

	loading sync.Mutex // held by Load
}

// New returns a service without a configuration: until Load, every request is an error.
func New(options Options, decide Decide) *Service {
	return &Service{options: options, decide: decide}
}

// Load replaces the configuration. Rules that stay keep their statistics, and counters
// their counts. If the files have an error, the last configuration stays in force.
func (s *Service) Load(files []File) (*Config, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	known := map[string]*ruleStats{}
	if last := s.config.Load(); last != nil {
		last.eachStats(func(r *ruleStats) { known[r.name] = r })
	}
	options := s.options.LoadOptions
	options.stats = func(name string) *ruleStats {
		if r := known[name]; r != nil {
			return r
		}
		return newRuleStats(name)
	}
	c, err := Load(files, options)
	if err != nil {
		s.counters.loadError.Add(1)
		return nil, err
	}
	s.config.Store(c)
	s.counters.loadSuccess.Add(1)
	return c, nil
}

// Failed counts a configuration that could not be read at all.
func (s *Service) Failed() { s.counters.loadError.Add(1) }

// Ready returns an error if requests cannot be answered, or, with NeedDomain, if the
// configuration has no domain.
func (s *Service) Ready() error {
	c := s.config.Load()
	if c == nil || s.options.NeedDomain && c.Empty() {
		return errNoConfig
	}
	return nil
}

// eachStats calls f with the statistics of each rule and each domain's overrides.
func (c *Config) eachStats(f func(*ruleStats)) {
	for _, r := range c.rules {
		if r.stats != nil {
			f(r.stats)
		}
	}
	for _, d := range c.domains {
		f(d.overrides)
	}
}

// Stats returns the statistics: those of the rules in the order of the files.
func (s *Service) Stats() Stats {
	c := &s.counters
	stats := Stats{
		ConfigLoadSuccess: c.loadSuccess.Load(), ConfigLoadError: c.loadError.Load(), GlobalShadowMode: c.globalShadow.Load(),
		StoreError: c.storeError.Load(), ServiceError: c.serviceError.Load(), DomainNotFound: c.domainNotFound.Load(),
	}
	if config := s.config.Load(); config != nil {
		config.eachStats(func(r *ruleStats) { stats.Rules = append(stats.Rules, r.read()...) })
	}
	return stats
}

// ShouldRateLimit answers one request. An error is an [*Error].
func (s *Service) ShouldRateLimit(ctx context.Context, request *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	b := pool.Get().(*buffers)
	defer b.free()
	if err := s.match(request, b); err != nil {
		s.counters.serviceError.Add(1)
		return nil, err
	}
	if err := s.charge(ctx, b); err != nil {
		s.counters.storeError.Add(1)
		return nil, err
	}
	return s.answer(request, b), nil
}
