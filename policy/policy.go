package policy

import (
	"slices"

	"github.com/headgate/headgate/engine"
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

// Mode returns the policy's mode: exact or leased.
func (p *Policy) Mode() string {
	if p.Leased {
		return "leased"
	}
	return "exact"
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
