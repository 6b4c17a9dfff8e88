package policy

import (
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
)

// Policy is a named limit, or several, with the settings of its answers.
type Policy struct {
	Name string
	// Failure is the answer when the decision is not known.
	Failure Failure
	// Headers is the form of the rate-limit headers.
	Headers Headers
	// Cost is the cost of a request that names none.
	Cost int64
	// Shadow policies are decided and counted, and never deny.
	Shadow bool
	// Enabled is false if the policy allows everything and counts nothing.
	Enabled bool
	// Leased allows the server to prefetch units of hot keys from the store.
	Leased bool
	// Replicas is what a charge waits for.
	Replicas engine.Replicas

	members  []member
	combined bool // written with all
	index    int  // in the names of its set
}

// member is one limit of a policy. It is the policy's own, or that of another policy in all.
type member struct {
	limit headgate.Limit
	// policy owns the counter and the overrides.
	policy *Policy
	spec   LimitSpec
	space  string
	shadow bool
	rules  *overrides
	// candidate is a limit that is tried beside this one; the zero Limit if there is none.
	candidate headgate.Limit
}

// Index returns the position of the policy in the names of its set, for tables that are
// indexed instead of searched.
func (p *Policy) Index() int { return p.index }

// hasCandidate reports whether a limit is tried beside this one.
func (m *member) hasCandidate() bool { return m.candidate != headgate.Limit{} }

// Answers is what must hold before a request is answered as allowed.
type Answers struct {
	// Failure is the answer when that is not known.
	Failure Failure
	// Replicas is what the charge waits for.
	Replicas engine.Replicas
}

// Answers returns those of requests that name the policy.
func (p *Policy) Answers() Answers { return Answers{Failure: p.Failure, Replicas: p.Replicas} }

// Failure is a failure mode: what a policy answers when the decision is not known.
type Failure uint8

// Deny answers an error. Local answers by this process's share of the limits, if the store
// has the layer fallback in front of it, and otherwise as Deny does. Allow answers an allowed
// decision. What Local and Allow answer is marked fallback.
const (
	Deny Failure = iota
	Local
	Allow
)

var failureNames = [...]string{Deny: "deny", Local: "local", Allow: "allow"}

// ParseFailure returns the failure mode of a name.
func ParseFailure(name string) (Failure, error) {
	if i := slices.Index(failureNames[:], name); i >= 0 {
		return Failure(i), nil
	}
	return Deny, invalidWord("failure", name, failureAccepted)
}

// Headers is a form of rate-limit headers.
type Headers string

// The forms.
const (
	HeadersDraft      Headers = "draft"
	HeadersDraft03    Headers = "draft-03"
	HeadersXRateLimit Headers = "x-ratelimit"
	HeadersSpring     Headers = "spring"
	HeadersOff        Headers = "off"
)

// Charge is one limit that a request is charged on.
type Charge struct {
	engine.Charge
	// Policy is the name of the policy whose limit it is, and Owner that policy.
	Policy string
	Owner  *Policy
	// Shadow limits are decided apart from the others and never deny. A Candidate is one
	// that would replace the owner's limit; other shadows would stand beside the others.
	// ShadowOf is the policy that has the setting: the owner, or one whose all names it.
	Shadow, Candidate bool
	ShadowOf          *Policy
	// Override is true if the limit is that of an override.
	Override bool
}

// Charges appends the limits of a key, overrides included, each at the cost. The key can
// have other names, such as its hash: an exact override of one of them is one of the key.
func (p *Policy) Charges(charges []Charge, key string, cost int64, names ...string) []Charge {
	if !p.Enabled || len(p.members) == 0 { // no members: all policies inside all are disabled
		return append(charges, Charge{Charge: engine.Charge{Limit: headgate.NoLimit(), Cost: cost}, Policy: p.Name, Owner: p})
	}
	for i := range p.members {
		m := &p.members[i]
		limit, replaced := m.rules.find(key, names)
		if !replaced {
			limit = m.limit
		}
		charges = append(charges, Charge{
			Charge: engine.Charge{Space: m.space, Limit: limit, Cost: cost},
			Policy: m.policy.Name, Owner: m.policy, Shadow: m.shadow || p.Shadow, ShadowOf: p.shadowOf(m), Override: replaced,
		})
		if m.hasCandidate() && !replaced {
			charges = append(charges, Charge{
				Charge: engine.Charge{Space: engine.CandidateSpace(m.policy.Name), Limit: m.candidate, Cost: cost},
				Policy: m.policy.Name, Owner: m.policy, Shadow: true, Candidate: true, ShadowOf: m.policy,
			})
		}
	}
	return charges
}

// shadowOf returns the policy whose setting makes a limit of p a shadow; nil if it decides.
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

// distinctCharges keeps one charge of each counter: a limit that is in several policies of
// a request is charged once. One that denies is kept before one that is a shadow.
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

// Mode returns the mode as it is configured: exact or leased.
func (p *Policy) Mode() string {
	if p.Leased {
		return "leased"
	}
	return "exact"
}

// Set holds the policies of a file by name. It is immutable.
type Set struct {
	byName map[string]*Policy
	names  []string // sorted
}

// Get returns a policy by name.
func (s *Set) Get(name string) (*Policy, bool) {
	if s == nil {
		return nil, false
	}
	p, ok := s.byName[name]
	return p, ok
}

// Leased returns the limits of leased policies and of their overrides by name space. It
// leaves out an override whose units cannot be prefetched: that is decided exactly.
func (s *Set) Leased() map[string][]headgate.Limit {
	leased := map[string][]headgate.Limit{}
	for _, name := range s.Names() {
		p := s.byName[name]
		if !p.Leased || !p.Enabled {
			continue
		}
		for _, limit := range append(p.members[0].rules.limits(), p.members[0].limit) {
			if prefetch.Prefetchable(limit) {
				leased[engine.PolicySpace(name)] = append(leased[engine.PolicySpace(name)], limit)
			}
		}
	}
	return leased
}

// Replicated returns the names of the policies that wait for replicas, sorted. A store in
// memory has none.
func (s *Set) Replicated() (names []string) {
	for _, name := range s.Names() {
		if s.byName[name].Replicas.Count > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Names returns the names of the policies, sorted.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Candidate returns the limit that is tried beside the policy's own as text, "" if there is
// none.
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

// String returns the name that ParseFailure reads.
func (f Failure) String() string {
	return failureNames[min(f, Allow)]
}
