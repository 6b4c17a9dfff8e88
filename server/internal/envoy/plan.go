package envoy

import (
	"context"
	"slices"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// plan converts a request from Envoy to requests to package decide.
//
// Hits on rules with classes count only if they are allowed. Otherwise denied hits of one class would use up the
// units that it must leave to the classes before it.
//
// With envoyproxy/ratelimit's semantics each descriptor is a separate request. With the improved semantics all
// descriptors that can deny are items of one request, which is charged for all of them or for none. Descriptors of
// quota rules, descriptors with 0 hits, and descriptors that give hits back are separate requests.
func (b *buffers) plan(semantics Semantics, own decide.InlineRules, request *pb.RateLimitRequest) {
	b.own, b.class = own, valueOf(request, classKey)
	outcomes := outcomesOf(request)
	b.requests = slices.Grow(b.requests, len(b.matches))
	together := -1
	for i := range b.matches {
		m := &b.matches[i]
		if m.quota == nil {
			b.places = append(b.places, itemIndex{request: -1})
			continue
		}
		descriptor := request.Descriptors[i]
		kind, cost := m.kind(semantics, int64(hits(request, descriptor)), descriptor.GetIsNegativeHits())
		q := decide.Request{
			Kind: kind, Item: decide.Item{Limit: m.quota.forKind(kind), Inline: &b.own, Key: b.key(m), Cost: cost, HasCost: true}, CountDenied: m.quota.blocked() && counted(kind), Shadowed: true,
		}
		if m.rule != nil {
			q.Policy = m.rule.policy
			if kind != engine.OpCount {
				q.Class, q.Limit = b.class, m.rule.classes.limit(b.class, q.Limit)
			}
		}
		if kind == engine.OpAllow {
			q.Outcomes = outcomes
		}
		if semantics != Improved || kind != engine.OpAllow || !m.denies() {
			b.places = append(b.places, itemIndex{request: len(b.requests)})
			b.requests = append(b.requests, q)
			continue
		}
		if together < 0 {
			together = len(b.requests)
			b.requests = append(b.requests, decide.Request{Kind: engine.OpAllow, Shadowed: true, Class: b.class, Outcomes: outcomes})
		}
		all := &b.requests[together]
		b.places = append(b.places, itemIndex{request: together, item: len(all.Items)})
		all.Items = append(all.Items, decide.Item{Policy: q.Policy, Limit: q.Limit, Inline: q.Inline, Key: q.Key, Cost: cost, HasCost: true})
	}
	b.responses = slices.Grow(b.responses, len(b.requests))[:len(b.requests)]
}

// counted reports whether an operation counts hits or gives them back.
func counted(kind engine.Kind) bool { return kind == engine.OpCount || kind == engine.OpGive }

// kind returns the kind of operation for one descriptor, and its cost.
func (m *match) kind(semantics Semantics, hits int64, negative bool) (engine.Kind, int64) {
	switch {
	case negative && hits > 0:
		return engine.OpGive, hits
	case semantics == Original && m.quota.counts() && !m.hasClasses():
		return engine.OpCount, hits
	case hits == 0: // checks whether one hit would pass
		return engine.OpPeek, 1
	default:
		return engine.OpAllow, hits
	}
}

// forKind returns the limit for an operation of the given kind. For a quota of 0, OpCount and OpGive count hits in a
// window, and other operations are denied.
func (q *quota) forKind(kind engine.Kind) engine.Limit {
	if q.blocked() && !counted(kind) {
		return engine.DenyAll()
	}
	return q.limit
}

// denies reports whether the rule on its own can deny a request. It ignores that the rule's policy may be a shadow.
func (m *match) denies() bool { return m.rule == nil || !m.rule.quotaMode }

// charge decides the requests in b and stores the responses there. It returns an error if the decision for a descriptor
// that can deny is not known.
func (s *Service) charge(ctx context.Context, b *buffers) error {
	if len(b.requests) == 0 {
		return nil
	}
	if s.options.Semantics == Improved {
		s.check(ctx, b)
	}
	s.decide(ctx, b.requests, b.responses)
	for i := range b.matches {
		at := b.places[i].request
		if at < 0 || !b.matches[i].denies() {
			continue
		}
		if err := b.responses[at].Err; err != nil {
			return s.notKnown(err)
		}
	}
	return nil
}

// check determines whether descriptors with 0 hits deny the request. If so, no other descriptor is charged.
func (s *Service) check(ctx context.Context, b *buffers) {
	for i := range b.matches {
		at := b.places[i].request
		if at < 0 || b.requests[at].Kind != engine.OpPeek || !b.matches[i].denies() {
			continue
		}
		s.decide(ctx, b.requests[at:at+1], b.responses[at:at+1])
		if r := &b.responses[at]; r.Err != nil || r.Allowed {
			continue
		}
		for j := range b.requests {
			if b.requests[j].Kind == engine.OpAllow {
				b.requests[j].Kind = engine.OpPeek
			}
		}
		return
	}
}

func (m *match) hasClasses() bool { return m.rule != nil && m.rule.classes.all != nil }
