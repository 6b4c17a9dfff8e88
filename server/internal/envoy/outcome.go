package envoy

import (
	"slices"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/decide"
)

// outcome is the decision for one descriptor.
type outcome struct {
	allowed, unlimited, shadow bool
	granted, cost              int64
	at                         time.Time
	limit                      engine.Limit // the binding limit, which can differ from the rule's own
	standing                   engine.Standing
}

// outcomeOf returns a response's outcome for an item. ok is false if the outcome is not known.
func outcomeOf(r *decide.Response, item int) (o outcome, ok bool) {
	if r.Promise.Mode == engine.Fallback && r.Unlimited() {
		return o, false
	}
	if o, ok = itemOf(r, item); ok {
		if own := besides(r, item); own != nil && own.Err == nil && own.Limit != o.limit {
			o.ownLimit(own)
		}
		return o, true
	}
	if s := besides(r, item); s != nil {
		return outcomeOfOne(&s.Answer, s.Limit, s.Cost, true), s.Err == nil
	}
	return outcomeOfOne(&r.Answer, r.Limit(), r.Cost, false), true
}

func outcomeOfOne(a *engine.Answer, limit engine.Limit, cost int64, shadow bool) outcome {
	return outcome{
		allowed: a.Allowed, unlimited: a.Binds().Unlimited, shadow: shadow, granted: a.Granted, cost: cost, at: a.At(), limit: limit, standing: *a.Binds(),
	}
}

// itemOf returns the outcome for an item's limits, taken from the limit that denies or, if none does, from the limit
// with the fewest remaining units. ok is false if there are no such limits.
func itemOf(r *decide.Response, item int) (o outcome, ok bool) {
	for i := range r.Count() {
		c, s := r.Charge(i), r.Of(i)
		if r.Listed && c.Items>>item&1 == 0 {
			continue
		}
		one := outcome{
			allowed: r.Allowed || s.RetryAfter == 0, unlimited: s.Unlimited,
			cost: c.Cost, at: r.At(), limit: c.Limit, standing: *s,
		}
		switch {
		case r.Count() == 1:
			one.allowed, one.granted = r.Allowed, r.Granted
		case r.Allowed:
			one.granted = c.Cost
		}
		if !ok || o.unlimited || o.allowed && !one.allowed || o.allowed == one.allowed && one.standing.Remaining < o.standing.Remaining && !one.unlimited {
			o, ok = one, true
		}
	}
	return o, ok
}

// besides returns the additional answer for an item: from its shadow or, if the item was charged under a smaller limit
// than its own, from its own limit. It returns nil if no such answer exists.
func besides(r *decide.Response, item int) *decide.ShadowAnswer {
	for i := range r.Shadows {
		if s := &r.Shadows[i]; s.Item == item {
			return s
		}
	}
	return nil
}

// ownLimit replaces the outcome by the outcome of the descriptor's own limit. It is called if a smaller limit was
// charged.
func (o *outcome) ownLimit(own *decide.ShadowAnswer) {
	d := &own.Answer
	o.allowed = o.allowed || d.Binds().Remaining >= o.cost
	o.limit = own.Limit
	o.standing = engine.Standing{Limit: d.Binds().Limit, Remaining: d.Binds().Remaining, ResetAfter: d.Binds().ResetAfter}
}

// as returns the quota that describes a limit in answers, for a limit that an operator has set instead of the rule's.
func (q *quota) as(limit engine.Limit) *quota {
	if limit.Algorithm().DeniesAll() {
		return &quota{current: &pb.RateLimitResponse_RateLimit{Unit: q.current.Unit, UnitMultiplier: q.current.UnitMultiplier, Name: q.current.Name}, limit: q.limit, seconds: q.seconds}
	}
	rate := limit.Rates()[0]
	seconds := max(1, int64((rate.Period+time.Second-1)/time.Second))
	changed := &quota{current: &pb.RateLimitResponse_RateLimit{RequestsPerUnit: uint32(min(rate.Count, 1<<32-1)), Name: q.current.Name}, limit: limit}
	for _, unit := range slices.Backward(units) {
		if seconds%unitSeconds[unit] == 0 {
			changed.current.Unit = unit
			if n := seconds / unitSeconds[unit]; n > 1 {
				changed.current.UnitMultiplier = wrapperspb.UInt32(uint32(n))
			}
			break
		}
	}
	if n := limit.Numbers(); n.Algorithm.CountsHits() && n.Align == algo.AlignClock {
		changed.seconds = seconds
	}
	return changed
}
