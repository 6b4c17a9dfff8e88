package envoy

import (
	"context"
	"slices"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// plan makes the operations of a request.
//
// With envoyproxy/ratelimit's semantics each descriptor is one operation. With the
// improved ones all descriptors that can refuse the request are one operation, which
// charges all of them or none; shadow and quota rules are operations of their own.
func (b *buffers) plan(semantics Semantics, space string, request *pb.RateLimitRequest) {
	// Operations hold slices of the charges, so these must not move.
	b.charges = slices.Grow(b.charges, len(b.matches))
	together := -1
	for i := range b.matches {
		m := &b.matches[i]
		if m.quota == nil {
			b.places = append(b.places, place{op: -1})
			continue
		}
		descriptor := request.Descriptors[i]
		n := int64(hits(request, descriptor))
		kind, cost := m.kind(semantics, n, descriptor.GetIsNegativeHits())
		charge := engine.Charge{Limit: m.quota.forKind(kind), Cost: cost}
		if semantics == Improved && kind == engine.OpAllow && m.refuses() {
			charge.Key = b.key(m)
			if together < 0 {
				together = len(b.ops)
				b.ops = append(b.ops, engine.Op{Kind: engine.OpAllow, Space: space, Key: charge.Key})
			}
			b.places = append(b.places, place{op: together, charge: addCharge(&b.ops[together], charge)})
			continue
		}
		b.charges = append(b.charges, charge)
		b.places = append(b.places, place{op: len(b.ops)})
		b.ops = append(b.ops, engine.Op{Kind: kind, Space: space, Key: b.key(m), Charges: b.charges[len(b.charges)-1 : len(b.charges) : len(b.charges)]})
	}
	if together >= 0 {
		b.peekOwn(space, together)
	}
	b.results = slices.Grow(b.results, len(b.ops))[:len(b.ops)]
}

// addCharge adds a charge to an operation and returns its place. Two descriptors with the
// same counter are one charge of both, by the smaller of their limits.
func addCharge(op *engine.Op, c engine.Charge) int {
	for i := range op.Charges {
		if have := &op.Charges[i]; have.Key == c.Key && have.Limit.Counter() == c.Limit.Counter() {
			have.Cost += c.Cost
			if c.Limit.Capacity() < have.Limit.Capacity() {
				have.Limit = c.Limit
			}
			return i
		}
	}
	op.Charges = append(op.Charges, c)
	return len(op.Charges) - 1
}

// peekOwn adds an operation for each descriptor that is charged by the smaller limit of
// another one: its status is that of its own limit.
func (b *buffers) peekOwn(space string, together int) {
	for i := range b.places {
		p := &b.places[i]
		if p.op != together {
			continue
		}
		charge := b.ops[together].Charges[p.charge]
		if charge.Limit == b.matches[i].quota.forKind(engine.OpAllow) {
			continue
		}
		p.own = len(b.ops)
		b.ops = append(b.ops, engine.Op{Kind: engine.OpPeek, Space: space, Key: charge.Key, Charges: []engine.Charge{{Limit: b.matches[i].quota.limit}}})
	}
}

// kind returns the operation on one descriptor, and its cost.
func (m *match) kind(semantics Semantics, hits int64, negative bool) (engine.Kind, int64) {
	switch {
	case negative && hits > 0:
		return engine.OpGive, hits
	case semantics == Theirs && m.quota.counts():
		return engine.OpCount, hits
	case hits == 0: // a check: would one hit pass?
		return engine.OpPeek, 1
	default:
		return engine.OpAllow, hits
	}
}

// forKind returns the limit for an operation. A quota of 0 counts hits in a window, and
// otherwise denies them.
func (q *quota) forKind(kind engine.Kind) headgate.Limit {
	if q.blocked() && kind != engine.OpCount && kind != engine.OpGive {
		return headgate.DenyAll()
	}
	return q.limit
}

// refuses reports whether the rule can refuse a request.
func (m *match) refuses() bool { return m.rule == nil || !m.rule.shadow && !m.rule.quotaMode }

// charge lets the store decide the operations.
func (s *Service) charge(ctx context.Context, b *buffers) error {
	if len(b.ops) == 0 {
		return nil
	}
	for i := range b.ops {
		b.ops[i].Local, b.ops[i].Lenient = s.options.Failure == FailLocal, s.options.Failure == FailAllow
	}
	if s.options.Semantics == Improved {
		s.check(ctx, b)
	}
	s.decide(ctx, b.ops, b.results)
	if s.options.Failure == FailAllow {
		return nil
	}
	for i := range b.matches {
		at := b.places[i].op
		if at < 0 || !b.matches[i].refuses() {
			continue // a shadow rule decides nothing, and its error is none (known bug 59)
		}
		if err := b.results[at].Err; err != nil {
			return s.notKnown(err)
		}
	}
	return nil
}

// check asks the rules that only check whether they refuse the request. Then nothing may
// be charged elsewhere either.
func (s *Service) check(ctx context.Context, b *buffers) {
	for i := range b.matches {
		at := b.places[i].op
		if at < 0 || b.ops[at].Kind != engine.OpPeek || !b.matches[i].refuses() {
			continue
		}
		s.decide(ctx, b.ops[at:at+1], b.results[at:at+1])
		if r := &b.results[at]; r.Err != nil || r.Decision.Allowed {
			continue
		}
		for j := range b.ops {
			if b.ops[j].Kind == engine.OpAllow {
				b.ops[j].Kind = engine.OpPeek
			}
		}
		return
	}
}
