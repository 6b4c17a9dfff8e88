package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// override adds an override to its policy, or to one limit of a policy with "all".
func (b *builder) override(o *overrideFields) error {
	if o.Policy == nil {
		return invalid("policy", "not set", "the name of a policy")
	}
	p, m, err := b.target(*o.Policy)
	if err != nil || b.broken[p.Name] {
		return err // the policy's error was already reported
	}
	if o.Key == nil || *o.Key == "" || len(*o.Key) > engine.MaxKeyBytes {
		return invalid("key", "not set or too long", "a key of 1 to 1024 bytes, or a pattern with *")
	}
	if o.Class != nil {
		if err := p.addClass(o); err != nil || o.text == "" && o.Set == nil {
			return err
		}
	}
	limit, err := o.limit(p, m)
	if err != nil {
		return err
	}
	if err := p.lower(limit); err != nil {
		return atField(err, "set")
	}
	if m != nil {
		return m.rules.add(*o.Key, rule{limit, o.ends})
	}
	return p.rules.add(*o.Key, rule{limit, o.ends})
}

// target returns the target of an override: a policy or, with a slash, one limit of a policy with "all", such as
// free/minute. If the part after the slash names a policy under "all", the target is that policy itself.
func (b *builder) target(text string) (p *Policy, m *member, err error) {
	name, inner, ofLimit := strings.Cut(text, "/")
	p, ok := b.set.Get(name)
	if !ok {
		return nil, nil, invalidMeant("policy", text, b.nearest(name, b.set.names), "the name of a policy in this file")
	}
	if !ofLimit || b.broken[name] {
		return p, nil, nil
	}
	var names []string
	for i := range p.members {
		m := &p.members[i]
		own := m.policy == p && p.combined
		switch {
		case own && m.limit.Name() == inner:
			return p, m, nil
		case own:
			names = append(names, name+"/"+m.limit.Name())
		}
	}
	for i := range p.groups {
		if g := p.groups[i].policy; g.Name == inner && g != p {
			return g, nil, nil
		}
	}
	for i := range p.members {
		if other := p.members[i].policy; other != p && other.Name == inner {
			return other, nil, nil
		} else if other != p {
			names = append(names, name+"/"+other.Name)
		}
	}
	if p.combined {
		return nil, nil, invalidMeant("policy", text, yamlfile.Nearest(text, names), strings.Join(slices.Compact(names), ", "))
	}
	return nil, nil, invalid("policy", engine.Quote(text), "the policy without a limit, because it has one")
}

// OverrideTarget returns the target whose overrides apply to the target text. For a policy inside a policy with "all",
// such as both/api, this is the policy itself, api. Other texts stay unchanged.
func (s *Set) OverrideTarget(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	if p, m, err := (&builder{set: s}).target(text); err == nil && m == nil {
		return p.Name
	}
	return text
}

// limit returns the limit for the override's keys. It replaces the policy's single limit, or one of several.
func (o *overrideFields) limit(p *Policy, m *member) (engine.Limit, error) {
	given := 0
	for _, set := range []bool{o.text != "", o.Set != nil, o.Deny != nil && *o.Deny, o.Unlimited != nil && *o.Unlimited} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return engine.Limit{}, invalid("set", strconv.Itoa(given)+" of set, deny, unlimited", "exactly one of them, or class")
	case o.Deny != nil && *o.Deny:
		return engine.DenyAll(), nil
	case o.Unlimited != nil && *o.Unlimited:
		return engine.NoLimit(), nil
	case p.combined && m == nil:
		return engine.Limit{}, invalid("set", "the fields of a limit", "deny: true or unlimited: true for a policy with all or first; set is for the policies that it names, and for one limit of it, such as "+p.oneLimit())
	case o.Set != nil && o.Set.has("name"):
		name, _ := o.Set.word("name")
		return engine.Limit{}, atField(invalid("name", engine.Quote(name), "no name: keys are counted under that of the policy's limit"), "set")
	}
	if m == nil {
		m = &p.members[0]
	}
	spec := m.spec
	if o.on != nil {
		spec = *o.on
	}
	limit, err := o.build(&spec)
	if err != nil {
		return limit, atField(err, "set")
	}
	if place, err := strconv.Atoi(m.limit.Name()); err == nil {
		limit = limit.WithPosition(place)
	}
	return limit, sameVerb("set", m.limit, limit)
}

// build returns the override's limit, based on spec: what the override does not name stays. An override as text with
// another algorithm replaces the limit.
func (o *overrideFields) build(spec *LimitSpec) (engine.Limit, error) {
	fields, err := spec.fields()
	if err != nil {
		return engine.Limit{}, err
	}
	if o.text == "" {
		fields.overlay(o.Set)
		return fields.build()
	}
	named, ok, err := fields.textOn(o.text)
	if err != nil {
		return engine.Limit{}, err
	}
	if ok {
		fields.overlay(&named)
		return fields.build()
	}
	own, err := (&LimitSpec{Text: o.text}).fields()
	if err != nil {
		return engine.Limit{}, err
	}
	own.Values.set("name", fields.Values.get("name"))
	return own.build()
}

// oneLimit returns an example of a target for one limit of a policy with "all", for error messages.
func (p *Policy) oneLimit() string {
	for i := range p.members {
		if p.members[i].policy == p {
			return p.members[i].target
		}
	}
	return p.Name + "/" + p.members[0].policy.Name
}
