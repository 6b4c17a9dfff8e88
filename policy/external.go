package policy

import (
	"maps"
	"slices"

	"github.com/headgate/headgate/engine"
)

// External is a policy from something other than a policies file, such as a rule for Envoy.
type External struct {
	Name  string
	Limit engine.Limit
	// Space is the namespace of the policy's counters.
	Space   string
	Failure Failure
	Shadow  bool
	// Classes are the classes of requests, in a form that [LowerFor] accepts for the limit, or nil.
	Classes []Class
}

// Equal reports whether m and o are the same policy.
func (m External) Equal(o External) bool {
	return m.Name == o.Name && m.Limit == o.Limit && m.Space == o.Space && m.Failure == o.Failure && m.Shadow == o.Shadow && slices.Equal(m.Classes, o.Classes)
}

// LowerFor returns the limit for each class of a policy with one limit. It returns an error if the limit does not
// support these classes.
func LowerFor(limit engine.Limit, all []Class) ([]engine.Limit, error) {
	p := &Policy{}
	if err := p.setClasses(fieldsOf(all)); err != nil {
		return nil, err
	}
	if err := p.lower(limit); err != nil {
		return nil, err
	}
	if err := p.weigh(limit.Algorithm().Divides()); err != nil {
		return nil, err
	}
	limits := make([]engine.Limit, len(all))
	for index := range all {
		limits[index] = p.classes.limit(limit, index)
	}
	return limits, nil
}

func fieldsOf(all []Class) list[classFields] {
	fields := make(list[classFields], len(all))
	for i := range all {
		fields[i] = classFields{Name: &all[i].Name, Leaves: new(all[i].Leaves.String())}
		if all[i].Weight > 0 {
			fields[i].Weight = &all[i].Weight
		}
	}
	return fields
}

// WithExternal returns the configuration with policies from elsewhere. They act as if they were in the file: overrides and
// changes apply to them. A policy in the file replaces an external policy with the same name.
func (c *Config) WithExternal(external []External) *Config {
	if len(external) == 0 {
		return c
	}
	f := *c.file
	f.Policies = maps.Clone(f.Policies)
	if f.Policies == nil {
		f.Policies = make(map[string]*policyFields, len(external))
	}
	for i := range external {
		if m := &external[i]; f.Policies[m.Name] == nil {
			f.Policies[m.Name] = m.fields()
		}
	}
	with := f.config(c.pause, func(error) {}) // the file has been checked, and built limits are valid
	with.text = c.text
	return with
}

func (m *External) fields() *policyFields {
	p := &policyFields{space: m.Space}
	p.Settings = settingValues{"failure": m.Failure.String()}
	if m.Shadow {
		p.Settings["shadow"] = shadowFields{on: true}
	}
	switch a := m.Limit.Algorithm(); {
	case a.DeniesAll():
		p.Values.set("deny", true)
	case a.AllowsAll():
		p.Values.set("unlimited", true)
	default:
		p.text = m.Limit.String()
		if m.Classes != nil {
			p.Settings["classes"] = fieldsOf(m.Classes)
		}
	}
	return p
}
