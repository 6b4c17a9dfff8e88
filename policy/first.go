package policy

import (
	"github.com/headgate/headgate/engine"
)

// several is the list of limits of a policy with "all" or "first".
type several struct {
	field  string // "all" or "first"
	limits list[LimitSpec]
	beside string // another field that is also set
}

// several returns the limits of a policy with "all" or "first", or nil for a policy with one limit.
func (p *policyFields) several() *several {
	rest := p.LimitFields
	rest.All = nil
	switch {
	case p.text != "" || p.All == nil && p.First == nil:
		return nil
	case p.All != nil:
		return &several{field: "all", limits: p.All, beside: rest.firstSet()}
	}
	rest.First = nil
	return &several{field: "first", limits: p.First, beside: rest.firstSet()}
}

// choose assigns choice i to the members from index members on, and to the groups from index groups on.
func (p *Policy) choose(members, groups, i int) error {
	if p.choosing != nil && p.choosing != p {
		return &engine.InputError{Field: "policy", Value: engine.Quote(p.choosing.Name), Accepted: "policies without first"}
	}
	p.choosing = p
	if i >= engine.MaxCharges {
		return nil // combine reports that there are too many
	}
	for j := range p.members[members:] {
		p.members[members+j].choice = uint8(i + 1)
	}
	for j := range p.groups[groups:] {
		p.groups[groups+j].choice = uint8(i + 1)
	}
	return nil
}

// chooseFrom adopts the choices of a policy that p includes. A request can contain only one set of choices.
func (p *Policy) chooseFrom(other *Policy) error {
	switch {
	case other.choosing == nil:
	case p.choosing != nil:
		return &engine.InputError{Field: "policy", Value: engine.Quote(other.Name), Accepted: "one policy with first at most, and " + engine.Quote(p.choosing.Name) + " is one"}
	default:
		p.choosing = other.choosing
	}
	return nil
}

// checkChoices returns an error if the policy has choices and a limit that cannot be decided in one step with them.
func (p *Policy) checkChoices(field string) error {
	if p.choosing == nil {
		return nil
	}
	if p.Shadow {
		return invalid("shadow", "true, with choices of "+engine.Quote(p.choosing.Name), "false; a policy that first names can be a shadow")
	}
	for i := range p.members {
		if err := p.checkChoice(field, p.members[i].limit); err != nil {
			return err
		}
	}
	return nil
}

// checkChoice returns an error for a limit that cannot be part of a request with choices.
func (p *Policy) checkChoice(field string, limit engine.Limit) error {
	switch {
	case p.choosing == nil:
		return nil
	case holds(limit):
		return invalid(field, "a concurrency limit, with choices of "+engine.Quote(p.choosing.Name), "limits whose units are taken")
	case limit.Numbers().CountDenied:
		return invalid(field, limit.String()+", with choices of "+engine.Quote(p.choosing.Name), "limits that do not count denials")
	default:
		return nil
	}
}

// checkOverrides returns an error for overrides that cannot be part of a request with choices.
func (p *Policy) checkOverrides() error {
	for i := range p.members {
		for _, limit := range p.members[i].rules.values() {
			if err := p.checkChoice("first", limit.Limit); err != nil {
				return err
			}
		}
	}
	return nil
}

// bothWays returns an error for a limit that is a choice of one policy and is always charged by another.
func bothWays(charges []Charge) error {
	for i := range charges {
		for j := range charges[:i] {
			if c := &charges[i]; c.sameCounter(&charges[j]) && c.Choice != charges[j].Choice && !c.Shadow && !charges[j].Shadow {
				return invalid("policies", engine.Quote(c.Policy)+" twice, once as a choice of first", "a limit that is a choice, or one that is always charged")
			}
		}
	}
	return nil
}
