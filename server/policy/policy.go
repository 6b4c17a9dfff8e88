package policy

import (
	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/prefetch"
)

// Policy is a named limit, or several, and how it is answered.
type Policy struct {
	Name string
	// Failure says what is answered when the decision is not known.
	Failure Failure
	// Headers names the writer of its rate-limit headers.
	Headers Headers
	// Cost is what a request costs that names no cost.
	Cost int64
	// Shadow policies are decided and counted, and never refuse.
	Shadow bool
	// Enabled is false where the policy admits everything.
	Enabled bool
	// Leased policies' units may be taken of the store in advance.
	Leased bool

	members  []member
	combined bool // members come from all
}

// member is one limit of a policy: its own, or another policy's.
type member struct {
	limit headgate.Limit
	// policy is the one whose counter it is and whose overrides apply.
	policy *Policy
	spec   LimitSpec
	space  string
	shadow bool
	rules  *overrides
}

// Failure is what a policy answers when the decision is not known.
type Failure uint8

// Deny answers an error; Allow answers a decision marked fallback.
const (
	Deny Failure = iota
	Allow
)

// ParseFailure returns the failure mode of a name.
func ParseFailure(name string) (Failure, error) {
	switch name {
	case "deny":
		return Deny, nil
	case "allow":
		return Allow, nil
	case "local":
		return Deny, refuse("failure", `"local"`, failureAccepted+"; local is not supported yet")
	default:
		return Deny, refuse("failure", quote(name), failureAccepted)
	}
}

// Headers names a writer of rate-limit headers.
type Headers string

// The writers.
const (
	HeadersDraft      Headers = "draft"
	HeadersDraft03    Headers = "draft-03"
	HeadersXRateLimit Headers = "x-ratelimit"
	HeadersOff        Headers = "off"
)

// Charge is one limit that a request is held to.
type Charge struct {
	engine.Charge
	// Policy is the name of the policy whose limit it is.
	Policy string
	// Shadow limits are decided alone and never refuse.
	Shadow bool
}

// Charges appends the limits that the key is held to, each at the cost, with
// the overrides that apply to the key.
func (p *Policy) Charges(charges []Charge, key string, cost int64) []Charge {
	if !p.Enabled || len(p.members) == 0 { // all of them are disabled
		return append(charges, Charge{Charge: engine.Charge{Limit: headgate.NoLimit(), Cost: cost}, Policy: p.Name})
	}
	for i := range p.members {
		m := &p.members[i]
		limit := m.limit
		if replaced, ok := m.rules.find(key); ok {
			limit = replaced
		}
		charges = append(charges, Charge{
			Charge: engine.Charge{Space: m.space, Limit: limit, Cost: cost},
			Policy: m.policy.Name, Shadow: m.shadow || p.Shadow,
		})
	}
	return charges
}

// Mode returns the mode as it is configured: exact or leased.
func (p *Policy) Mode() string {
	if p.Leased {
		return "leased"
	}
	return "exact"
}

// Space is the name space of a policy's state.
func Space(policy string) string { return "policy:" + policy }

// Set is all policies by name. It does not change.
type Set struct {
	byName map[string]*Policy
	names  []string // sorted
}

// Get returns the policy of a name.
func (s *Set) Get(name string) (*Policy, bool) {
	if s == nil {
		return nil, false
	}
	p, ok := s.byName[name]
	return p, ok
}

// Leased returns the limits of leased policies, and of their overrides, by name
// space. An override that cannot be leased is decided exactly.
func (s *Set) Leased() map[string][]headgate.Limit {
	leased := map[string][]headgate.Limit{}
	for _, name := range s.Names() {
		p := s.byName[name]
		if !p.Leased || !p.Enabled {
			continue
		}
		for _, limit := range append(p.members[0].rules.limits(), p.members[0].limit) {
			if prefetch.Leasable(limit) {
				leased[Space(name)] = append(leased[Space(name)], limit)
			}
		}
	}
	return leased
}

// Names returns the names in order.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Limits returns the policy's limits as text, in order.
func (p *Policy) Limits() []string {
	texts := make([]string, len(p.members))
	for i := range p.members {
		texts[i] = p.members[i].limit.String()
	}
	return texts
}

// String returns the name that ParseFailure reads.
func (f Failure) String() string {
	if f == Allow {
		return "allow"
	}
	return "deny"
}
