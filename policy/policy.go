package policy

import (
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Policy is a named set of one or more limits, with settings for its answers.
type Policy struct {
	Name string
	// Failure determines the answer if the decision is not known.
	Failure Failure
	// Headers is the style of the rate-limit headers.
	Headers Headers
	// Cost is the cost of a request that does not specify one.
	Cost int64
	// Unit is the name of the policy's unit, such as "tokens", or "".
	Unit string
	// EstimateMax caps the cost of a reserve at the limit's capacity, because a larger reserve would never pass.
	EstimateMax bool
	// Term limits the time for settling a reservation, and determines what happens to an unsettled one. If it is nil,
	// there is no time limit.
	Term *engine.Term
	// Shadow is true if the policy is decided and counted, but never denies.
	Shadow bool
	// Enabled is false if the policy allows everything and counts nothing.
	Enabled bool
	// Leased allows the server to prefetch units of hot keys from the store.
	Leased bool

	classes  classes
	members  []member
	rules    *overrides // overrides of the policy itself; also in its member if it has a single limit
	combined bool       // written with "all" or "first"
	groups   []group    // the policies with "all" or "first", outermost first: this policy and those inside it
	choosing *Policy    // the policy with "first" that lists the members as choices: this policy or one inside it
	index    int        // position in the sorted names of its set
	space    string
	source   Source // of the charge of a disabled policy
}

// group is a policy with "all" or "first", and the range of its members. An override of the policy for a key replaces
// all members in the range.
type group struct {
	policy   *Policy
	from, to int // the members
	next     int // index in groups of the first group after those inside this one
	choice   uint8
	source   Source
}

// member is one limit of a policy: the policy's own, or a limit of another policy named under "all" or "first".
type member struct {
	limit engine.Limit
	// policy owns the counter and the overrides.
	policy *Policy
	spec   LimitSpec
	space  string
	shadow bool
	rules  *overrides
	target string // the limit's name in overrides
	// candidate is a limit that is tried in addition to this one. It is the zero Limit if there is no candidate.
	candidate engine.Limit
	choice    uint8 // for a policy with "first": engine.Charge.Choice
	// source is that of the member's charges under the policy that lists it, and tried the candidate's.
	source, tried Source
}

// Combined reports whether the policy is written with "all" or "first". An override for one of its keys can apply to
// one limit: see [Charge.Target]. Any other override either denies everything or allows everything, on all limits.
func (p *Policy) Combined() bool { return p.combined }

// Divides reports whether a limit of the policy divides its units among keys, so that they share a counter.
func (p *Policy) Divides() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.limit.Algorithm().Divides() })
}

// ShortestTerm returns the shortest term of the policy and of those under "all" or "first", or nil if none has one.
// Shadows do not count.
func (p *Policy) ShortestTerm() (term *engine.Term) {
	if p.Shadow {
		return nil
	}
	term = p.Term
	for i := range p.members {
		if m := &p.members[i]; !m.shadow {
			term = term.Shorter(m.policy.Term)
		}
	}
	return term
}

// Space returns the namespace of the policy's counters.
func (p *Policy) Space() string { return p.space }

// Index returns the position of the policy in the sorted names of its set, for tables with one entry per policy.
func (p *Policy) Index() int { return p.index }

// hasCandidate reports whether there is a candidate for the limit.
func (m *member) hasCandidate() bool { return m.candidate != engine.Limit{} }

// Answers returns the failure mode of requests that name the policy. For a shadow and a disabled policy it returns the
// [Weakest], because these policies never affect an answer.
func (p *Policy) Answers() Failure {
	if p.Shadow || !p.Enabled {
		return Weakest()
	}
	return p.Failure
}

// Headers is a style of rate-limit headers.
type Headers string

// The styles.
const (
	HeadersDraft      Headers = "draft"
	HeadersDraft03    Headers = "draft-03"
	HeadersXRateLimit Headers = "x-ratelimit"
	HeadersSpring     Headers = "spring"
	HeadersOff        Headers = "off"
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

// trace records the sources of the policy's charges, once its members are known.
func (p *Policy) trace() {
	for i := range p.members {
		m := &p.members[i]
		m.source = Source{
			Policy: m.policy.Name, Owner: m.policy, Shadow: m.shadow || p.Shadow, ShadowOf: p.shadowOf(m), Target: m.target, rules: m.rules,
		}
		if m.choice != 0 && !m.shadow {
			m.source.First = p.choosing
		}
		m.tried = Source{Policy: m.policy.Name, Owner: m.policy, Shadow: true, Candidate: true, ShadowOf: m.policy}
	}
	for i := range p.groups {
		g := &p.groups[i]
		g.source = Source{Policy: g.policy.Name, Owner: g.policy, Target: g.policy.Name, rules: g.policy.rules}
		switch {
		case p.Shadow:
			g.source.Shadow, g.source.ShadowOf = true, p
		case g.policy.Shadow:
			g.source.Shadow, g.source.ShadowOf = true, g.policy
		case g.choice != 0:
			g.source.First = p.choosing
		}
	}
}

// shadowOf returns the policy whose setting makes a limit of p a shadow, or nil if the limit decides.
func (p *Policy) shadowOf(m *member) *Policy {
	switch {
	case p.Shadow:
		return p
	case m.shadow:
		return m.policy
	default:
		return nil
	}
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

// Mode returns the policy's mode: exact or leased.
func (p *Policy) Mode() string {
	if p.Leased {
		return "leased"
	}
	return "exact"
}

// Set contains the policies of a file by name. It is immutable.
type Set struct {
	byName map[string]*Policy
	names  []string // sorted
}

// Get returns the policy with the given name, or nil and false if no such policy exists.
func (s *Set) Get(name string) (*Policy, bool) {
	if s == nil {
		return nil, false
	}
	p, ok := s.byName[name]
	return p, ok
}

// Unknown returns the error for a name that is not in the set.
func (s *Set) Unknown(name string) *engine.InputError {
	return &engine.InputError{Field: "policy", Value: engine.Quote(name), Accepted: "the name of a policy in the file", Meant: yamlfile.Nearest(name, s.Names())}
}

// Leased returns the limits of leased policies and of their overrides, by namespace. Disabled policies are left out. So
// are overrides whose units cannot be prefetched: they are decided exactly.
func (s *Set) Leased() map[string][]engine.Limit {
	leased := map[string][]engine.Limit{}
	for _, name := range s.Names() {
		p := s.byName[name]
		if !p.Leased || !p.Enabled {
			continue
		}
		for _, r := range append(p.members[0].rules.values(), rule{Limit: p.members[0].limit}) {
			if prefetch.Prefetchable(r.Limit) {
				leased[p.space] = append(leased[p.space], r.Limit)
			}
		}
	}
	return leased
}

// Divided returns the counter keys of the limits that divide their units among keys.
func (s *Set) Divided() (counted []string) {
	for _, name := range s.Names() {
		p := s.byName[name]
		for i := range p.members {
			if m := &p.members[i]; m.policy == p && m.limit.Algorithm().Divides() {
				counted = append(counted, m.limit.Counts(p.space, ""))
			}
		}
	}
	return counted
}

// Names returns the sorted names of the policies.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Candidate returns the candidate as text, or "" if the policy has none.
func (p *Policy) Candidate() string {
	if p.combined || len(p.members) == 0 || !p.members[0].hasCandidate() {
		return ""
	}
	return p.members[0].candidate.String()
}

// Limits returns the limits of the policy as text, in order.
func (p *Policy) Limits() []string {
	texts := make([]string, len(p.members))
	for i := range p.members {
		texts[i] = p.members[i].limit.String()
	}
	return texts
}
