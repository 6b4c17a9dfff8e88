package policy

import (
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// Charge is one limit that a request charges.
type Charge struct {
	engine.Charge
	// Source is where the limit comes from. It is the same for all requests, and never nil in what [Policy.Charges] and
	// [Inline] return.
	*Source

	// Class is the class assigned by [Classify]. It is "" if the owner has no classes.
	Class string
	// Override reports whether the limit comes from an override. EndsMicros is the time at which the override ends, in µs
	// since 1970, or 0 if it lasts.
	Override   bool
	EndsMicros int64
	// Estimate is the requested cost, if EstimateMax has lowered Cost.
	Estimate int64
}

// Source is the place of a limit in the policies.
type Source struct {
	// Owner is the policy that owns the limit, and Policy is its name. They are nil and "" for an inline limit.
	Policy string
	Owner  *Policy
	// Shadow is true if the limit is decided separately and never denies. Candidate is true for a shadow that would
	// replace the owner's limit; other shadows would be added to the limits. ShadowOf is the policy with the shadow
	// setting: the owner, or a policy whose "all" includes the owner. It is nil if Shadow is false.
	Shadow, Candidate bool
	ShadowOf          *Policy
	// First is the policy with "first" that lists this limit as a choice. It is nil if the limit is always charged.
	First *Policy
	// Target is the name of this limit in overrides: the policy's name or, for a limit in a policy's "all" list, both
	// names, such as free/minute.
	Target string
	rules  *overrides
}

var inline Source

// Inline returns the charge of a limit that no policy owns.
func Inline(c engine.Charge) Charge { return Charge{Charge: c, Source: &inline} }

// Unit returns the unit of the limit's policy, if it names one.
func (s *Source) Unit() string {
	if s.Owner == nil {
		return ""
	}
	return s.Owner.Unit
}

// Charges appends the limits for a key, including overrides, each with the cost. The key can have other names, such
// as its hash. An exact override for any of these names applies to the key. No request has the key "". This key
// represents any key without an override of all limits.
func (p *Policy) Charges(charges []Charge, key string, cost int64, names ...string) []Charge {
	if !p.Enabled {
		return append(charges, p.nothing(cost))
	}
	before, next := len(charges), 0
	for i := 0; ; i++ {
		for next < len(p.groups) && p.groups[next].from == i {
			g := &p.groups[next]
			next++
			if limit, replaced := g.find(key, names); replaced {
				charges = append(charges, g.charge(limit, cost))
				i, next = g.to, g.next
			}
		}
		if i == len(p.members) {
			break
		}
		charges = p.members[i].charge(charges, key, cost, names)
	}
	if len(charges) == before { // all policies under "all" are disabled
		return append(charges, p.nothing(cost))
	}
	return charges
}

// Classify assigns a class to a key's charges, and lowers each limit to the units that the class may use. A key's own
// class takes precedence over the class in the request. An unknown class counts as the last class. Charges of
// policies without classes do not change.
func Classify(charges []Charge, class string, key string, names ...string) {
	for i := range charges {
		if c := &charges[i]; c.Owner != nil && c.Owner.classes.list != nil {
			c.classify(class, key, names)
		}
	}
}

// nothing returns the charge for a policy that allows everything.
func (p *Policy) nothing(cost int64) Charge {
	return Charge{Charge: engine.Charge{Limit: engine.NoLimit(), Cost: cost}, Source: &p.source}
}

// find returns the limit that replaces the limits of all members for a key. It returns false if none does.
func (g *group) find(key string, names []string) (rule, bool) {
	if key == "" {
		return rule{}, false
	}
	return g.policy.rules.find(key, names)
}

// charge returns the charge that replaces the charges of all members.
func (g *group) charge(r rule, cost int64) Charge {
	return Charge{
		Charge: engine.Charge{Space: g.policy.space, Limit: r.Limit, Cost: cost, Choice: g.source.choice(g.choice)},
		Source: &g.source, Override: true, EndsMicros: r.ends,
	}
}

// charge appends the charges of one limit.
func (m *member) charge(charges []Charge, key string, cost int64, names []string) []Charge {
	r, replaced := m.rules.find(key, names)
	if !replaced {
		r.Limit = m.limit
	}
	charges = append(charges, Charge{
		Charge: engine.Charge{Space: m.space, Limit: r.Limit, Cost: cost, Choice: m.source.choice(m.choice)},
		Source: &m.source, Override: replaced, EndsMicros: r.ends,
	})
	if !m.hasCandidate() || replaced {
		return charges
	}
	return append(charges, Charge{
		Charge: engine.Charge{Space: engine.CandidateSpace(m.policy.Name), Limit: m.candidate, Cost: cost}, Source: &m.tried,
	})
}

// choice returns the choice of a charge. A shadow counts separately and is not a choice.
func (s *Source) choice(of uint8) uint8 {
	if s.First == nil {
		return 0
	}
	return of
}

// distinctCharges keeps one charge per counter: a limit in several of the request's policies is charged once. A limit
// that can deny takes precedence over a shadow.
func distinctCharges(charges []Charge) []Charge {
	kept := charges[:0]
	for i := range charges {
		c := charges[i]
		same := slices.IndexFunc(kept, func(k Charge) bool { return k.sameCounter(&c) })
		switch {
		case same < 0:
			kept = append(kept, c)
		case kept[same].Shadow && !c.Shadow:
			kept[same] = c
		}
	}
	return kept
}

func (c *Charge) sameCounter(other *Charge) bool {
	return c.Space == other.Space && c.Space != "" && c.Limit.Algorithm() == other.Limit.Algorithm() && c.Limit.Name() == other.Limit.Name()
}

// ForRoute appends the limits for one charge of a route, from all its policies, with overrides. It returns the
// strictest failure mode of these policies. A limit in several policies is charged once. Overrides are looked up by key and
// by names, the other names of the key: see [Policy.Charges]. The argument key is the item's key or, if keys are
// hashed, its hash.
func (s *Set) ForRoute(charges []Charge, c *route.Charge, item *route.Item, key string, names ...string) ([]Charge, Failure) {
	failure, from := Weakest(), len(charges)
	for _, name := range c.Policies {
		p, ok := s.Get(name)
		if !ok {
			continue // cannot happen in a checked file
		}
		cost := p.Cost
		if item.HasCost {
			cost = item.Cost
		}
		charges = p.Charges(charges, key, cost, names...)
		failure = failure.And(p.Answers())
	}
	return append(charges[:from], distinctCharges(charges[from:])...), failure
}
