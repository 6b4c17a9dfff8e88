package envoy

import (
	"context"
	"sync"
	"sync/atomic"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/keyhash"
)

// Semantics selects the rules for deciding requests.
type Semantics uint8

const (
	// Original decides like envoyproxy/ratelimit: each descriptor is decided separately. A fixed window without classes
	// counts every hit, including denied ones.
	Original Semantics = iota
	// Improved charges all of a request's descriptors or none, so that a denied request does not use up other limits,
	// and never counts a denied hit.
	Improved
)

// Options configures a service.
type Options struct {
	Semantics Semantics
	// Failure is the failure mode of the rules' policies and of inline limits. If it is nil, requests that cannot be
	// decided get an error. The error's gRPC code is Unknown, as in envoyproxy/ratelimit. With the improved semantics,
	// or if Failure is set, it is Unavailable.
	Failure *policy.Failure
	// SetPolicies is called with the rules' policies before a configuration becomes active. If it is nil, the rules
	// decide without policies.
	SetPolicies func([]policy.External)
	LoadOptions
	// Shadow answers OK to every request, but counts as usual.
	Shadow bool
	// Quota sets quota_mode on every rule.
	Quota bool
	// DynamicMetadata adds the request's descriptors and the rules' metadata to answers.
	DynamicMetadata bool
	// Headers contains the names of the rate-limit headers that Envoy adds to responses.
	Headers Headers
	// HashKeys holds the secrets for hashing values in the names of statistics. If it is nil, they are not hashed.
	// Package decide hashes the keys.
	HashKeys *keyhash.File
	// NeedDomain makes Ready return an error while the configuration has no domain.
	NeedDomain bool
}

// failure returns the failure mode, which is deny unless o.Failure is set.
func (o *Options) failure() policy.Failure {
	if o.Failure == nil {
		return policy.Deny
	}
	return *o.Failure
}

// Headers holds the names of the rate-limit headers. If Enabled is false, answers contain no headers.
type Headers struct {
	Enabled                 bool
	Limit, Remaining, Reset string
}

// Decide decides requests. An error in a response means that its decision is not known.
type Decide func(ctx context.Context, requests []decide.Request, responses []decide.Response)

// Service answers rate limit requests according to a configuration that can be replaced at any time. It is safe for
// concurrent use.
type Service struct {
	options  Options
	decide   Decide
	config   atomic.Pointer[Config]
	counters counters

	loading sync.Mutex // held by Load
}

// New returns a service without a configuration. Until Load succeeds, every request gets an error.
func New(options Options, decide Decide) *Service {
	return &Service{options: options, decide: decide}
}

// Load replaces the configuration. Existing rules keep their statistics, and counters keep their counts. If the files
// are invalid, the previous configuration stays active.
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
	if s.options.SetPolicies != nil {
		s.options.SetPolicies(c.Policies(s.options.failure()))
	}
	s.config.Store(c)
	s.counters.loadSuccess.Add(1)
	return c, nil
}

// Failed counts a configuration that could not be read.
func (s *Service) Failed() { s.counters.loadError.Add(1) }

// Ready returns an error if requests cannot be answered, or, with NeedDomain, if the configuration has no domain.
func (s *Service) Ready() error {
	c := s.config.Load()
	if c == nil || s.options.NeedDomain && len(c.domains) == 0 {
		return errNoConfig
	}
	return nil
}

// eachStats calls f with the statistics of each rule and of each domain's overrides.
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

// Stats returns the statistics, with the rules in the order of the files.
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

// ShouldRateLimit answers one request. Its errors are of type [*Error].
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
