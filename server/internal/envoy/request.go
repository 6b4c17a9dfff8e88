package envoy

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/keyhash"
)

var (
	errNoConfig      = errors.New("no rate limit configuration loaded")
	errNoDomain      = errors.New("rate limit domain must not be empty")
	errNoDescriptors = errors.New("rate limit descriptor list must not be empty")
)

// maxHits bounds the hits on one descriptor. It is more than a window can count, so larger numbers get the same
// answer.
const maxHits = algo.MaxUnits + 1

// buffers holds the working data of one request. It is reused, so that a decision allocates little.
type buffers struct {
	matches   []match
	requests  []decide.Request
	responses []decide.Response
	own       decide.InlineRules
	class     string // the request's class, or ""
	// places contains, for each descriptor, the index of its request to package decide and the index of its item in
	// that request. The request is -1 for a descriptor that is not counted.
	places []itemIndex

	keys, text, name []byte
	path             []step

	secrets *keyhash.Secrets // from Options.HashKeys
}

type itemIndex struct{ request, item int }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// largestKept is the maximum number of descriptors in a buffer that is kept for reuse.
const largestKept = 64

func (b *buffers) free() {
	if cap(b.matches) > largestKept || cap(b.keys) > 64<<10 {
		return
	}
	clear(b.matches)
	clear(b.requests)
	clear(b.responses)
	clear(b.path)
	b.class = ""
	b.matches, b.requests, b.responses, b.places = b.matches[:0], b.requests[:0], b.responses[:0], b.places[:0]
	b.keys, b.path = b.keys[:0], b.path[:0]
	pool.Put(b)
}

// match finds the rule for each descriptor.
func (s *Service) match(request *pb.RateLimitRequest, b *buffers) error {
	switch {
	case request.Domain == "":
		return s.invalid(codes.InvalidArgument, errNoDomain)
	case len(request.Descriptors) == 0:
		return s.invalid(codes.InvalidArgument, errNoDescriptors)
	case len(request.Descriptors) > engine.MaxOps:
		return s.invalid(codes.InvalidArgument, fmt.Errorf("rate limit descriptor list has %d descriptors; accepted: 1 to %d", len(request.Descriptors), engine.MaxOps))
	}
	b.secrets = s.options.HashKeys.Secrets()
	c := s.config.Load()
	if c == nil {
		return s.invalid(codes.FailedPrecondition, errNoConfig)
	}
	d := c.domains[request.Domain]
	if d == nil {
		s.counters.domainNotFound.Add(1)
	}
	for _, descriptor := range request.Descriptors {
		var m match
		var err error
		switch {
		case d == nil:
		case descriptor.GetLimit() != nil:
			m, err = s.override(d, descriptor, b)
		default:
			m = d.find(descriptor.GetEntries(), b)
			m.setStats(d, descriptor.GetEntries(), b)
		}
		if err != nil {
			return s.invalid(codes.InvalidArgument, err)
		}
		b.matches = append(b.matches, m)
	}
	b.replace()
	own := decide.InlineRules{Failure: s.options.failure()}
	if d != nil {
		own.Space = d.space
	}
	b.plan(s.options.Semantics, own, request)
	return nil
}

// replace drops the rules that are replaced by another descriptor's rule.
func (b *buffers) replace() {
	for i := range b.matches {
		by := b.matches[i].rule
		if by == nil {
			continue
		}
		for _, name := range by.replaces {
			for j := range b.matches {
				if m := &b.matches[j]; m.quota != nil && m.rule != nil && m.quota.current.Name == name {
					m.quota = nil // keep the rule, because it still replaces others
				}
			}
		}
	}
}

// override returns the limit that a request sets for a descriptor. The limit shares a counter with a rule for the same
// entries and unit.
func (s *Service) override(d *domain, descriptor *ratelimit.RateLimitDescriptor, b *buffers) (match, error) {
	limit := descriptor.GetLimit()
	multiplier := uint32(1)
	if m := limit.GetUnitMultiplier(); m != nil {
		multiplier = m.GetValue()
	}
	set := settings{perUnit: limit.GetRequestsPerUnit(), unit: unit(limit.GetUnit()), multiplier: multiplier}
	if unitSeconds[set.unit] == 0 {
		return match{}, fmt.Errorf("invalid rate limit unit '%s'", limit.GetUnit())
	}
	if multiplier == 0 {
		return match{}, errors.New("invalid rate limit unit_multiplier 0; accepted: 1 or more")
	}
	q, err := set.build()
	if err != nil {
		return match{}, err
	}
	key := keyWriter{buffer: b.keys, from: len(b.keys)}
	b.name = append(b.name[:0], d.name...)
	for _, e := range descriptor.GetEntries() {
		key.entry(e.GetKey(), e.GetValue())
		b.name = append(append(b.name, '.'), e.GetKey()...)
		if e.GetValue() != "" {
			b.name = appendValue(append(b.name, '_'), e.GetValue(), b.secrets)
		}
	}
	if len(descriptor.GetEntries()) == 0 {
		key.entry("", "")
		b.name = append(b.name, '.') // as in envoyproxy/ratelimit
	}
	b.keys = key.end()
	return match{
		quota: &q, near: q.near(s.options.ratio()), stats: d.overrides.named(b.name), from: key.from, to: len(b.keys),
	}, nil
}

// hits returns the number of hits on a descriptor: its own hits_addend, from 0 to maxHits. If that is not set, it
// returns the request's hits_addend, or 1 if that is 0.
func hits(request *pb.RateLimitRequest, descriptor *ratelimit.RateLimitDescriptor) uint64 {
	if own := descriptor.GetHitsAddend(); own != nil {
		return min(own.GetValue(), maxHits)
	}
	return max(1, uint64(request.GetHitsAddend()))
}

// key returns a match's key. The string shares the buffer's memory.
func (b *buffers) key(m *match) string {
	return unsafe.String(unsafe.SliceData(b.keys[m.from:m.to]), m.to-m.from)
}
