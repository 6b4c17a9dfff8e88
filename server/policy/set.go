package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/prefetch"
)

// set builds the policies: first the settings of each, then the limits, because all can
// name a policy that comes later, then the overrides. It reports each error once.
func (f *file) set(report func(error)) *Set {
	b := builder{
		file: f, set: &Set{byName: map[string]*Policy{}, names: sortedNames(f.Policies)}, rules: map[string]*overrides{},
		broken: map[string]bool{}, report: report,
	}
	for _, name := range b.set.names {
		p := newPolicy(name, f.Policies[name], func(err error) {
			b.broken[name] = true
			report(atField(err, "policies", name))
		})
		b.set.byName[name], b.rules[name] = p, &overrides{}
	}
	for _, name := range b.set.names {
		_ = b.build(name, nil) // has reported its error
	}
	for i := range f.Overrides {
		if err := b.override(&f.Overrides[i]); err != nil {
			report(atField(err, "overrides", strconv.Itoa(i)))
		}
	}
	return b.set
}

// newPolicy reads the settings of a policy, without its limits, and reports each error.
func newPolicy(name string, fields *policyFields, report func(error)) *Policy {
	p := &Policy{Name: name, Cost: 1, Enabled: true, Headers: HeadersDraft}
	try := func(err error) {
		if err != nil {
			report(err)
		}
	}
	if engine.CheckPolicyName(name) != nil {
		report(fmt.Errorf("policy name %s; accepted: 1 to 64 of A-Z a-z 0-9 _ . -", quote(name)))
	}
	if fields == nil {
		report(errors.New(`empty; accepted: a limit such as "100/s", or its fields`))
		return p
	}
	if fields.Failure != nil {
		var err error
		p.Failure, err = ParseFailure(*fields.Failure)
		try(err)
	}
	try(p.checkMode(fields.Mode))
	try(p.setHeaders(fields.Headers))
	if fields.Cost != nil {
		if p.Cost = *fields.Cost; p.Cost < 0 || p.Cost > 1<<32-1 {
			report(invalid("cost", strconv.FormatInt(p.Cost, 10), costAccepted))
		}
	}
	p.Shadow = fields.Shadow != nil && *fields.Shadow
	p.Enabled = fields.Enabled == nil || *fields.Enabled
	return p
}

func (p *Policy) checkMode(mode *string) error {
	switch {
	case mode == nil || *mode == "exact":
		return nil
	case *mode == "leased":
		p.Leased = true
		return nil
	default:
		return invalid("mode", quote(*mode), modeAccepted)
	}
}

// checkLease rejects mode: leased where units cannot be prefetched.
func (p *Policy) checkLease() error {
	switch {
	case !p.Leased:
		return nil
	case p.combined:
		return invalid("mode", "leased beside all", "exact; a policy with one limit can be leased, also where all names it")
	case !prefetch.Leasable(p.members[0].limit):
		return invalid("mode", "leased for "+p.members[0].limit.String(), prefetch.Accepted)
	case p.Cost != 1:
		return invalid("mode", "leased beside cost "+strconv.FormatInt(p.Cost, 10), "leased where a request costs 1")
	default:
		return nil
	}
}

func (p *Policy) setHeaders(name *string) error {
	if name == nil {
		return nil
	}
	switch h := Headers(*name); h {
	case HeadersDraft, HeadersDraft03, HeadersXRateLimit, HeadersOff:
		p.Headers = h
		return nil
	case "spring":
		return invalid("headers", `"spring"`, headersAccepted+"; spring is not supported yet")
	default:
		return invalid("headers", quote(*name), headersAccepted)
	}
}

type builder struct {
	file   *file
	set    *Set
	rules  map[string]*overrides
	broken map[string]bool // policies with a reported error
	report func(error)
}

// errBroken stops the build of a policy whose error, or that of a policy inside its all,
// was reported.
var errBroken = errors.New("a policy inside all is broken")

// build builds the limits of a policy, once, and checks the settings that depend on
// them. parents are the policies whose all contains this one.
func (b *builder) build(name string, parents []string) error {
	p, fields := b.set.byName[name], b.file.Policies[name]
	if slices.Contains(parents, name) {
		return invalid("all", quote(name), "policies that do not contain themselves")
	}
	if b.broken[name] || fields == nil {
		return errBroken
	}
	if p.members != nil {
		return nil
	}
	err := b.members(p, fields, parents)
	if err == nil {
		err = p.checkLease()
	}
	if err == nil && fields.Cost != nil {
		err = p.checkCost()
	}
	if err == nil {
		return nil
	}
	b.broken[name] = true
	if !errors.Is(err, errBroken) {
		b.report(atField(err, "policies", name))
	}
	return errBroken
}

// checkCost rejects a cost above what one of the limits lets pass at once.
func (p *Policy) checkCost() error {
	for _, m := range p.members {
		n := m.limit.Numbers()
		if n.Algorithm == algo.DenyAll {
			continue
		}
		steps := []algo.Step{{Limit: n, Cost: p.Cost}}
		if algo.Peek(steps, algo.Instant{}); steps[0].Outcome.Wait == algo.Never {
			return invalid("cost", strconv.FormatInt(p.Cost, 10), "at most what "+m.limit.String()+" lets pass at once")
		}
	}
	return nil
}

// members builds the limits of one policy.
func (b *builder) members(p *Policy, fields *policyFields, parents []string) error {
	if fields.text == "" && fields.All != nil {
		p.combined = true
		return b.combine(p, fields, append(parents, p.Name))
	}
	spec := LimitSpec{Text: fields.text, LimitFields: fields.LimitFields}
	limit, err := spec.Build()
	if err != nil {
		return err
	}
	p.members = []member{{limit: limit, policy: p, spec: spec, space: Space(p.Name), shadow: p.Shadow, rules: b.rules[p.Name]}}
	return nil
}

// combine builds the members of all: those of other policies by name, and own limits. An
// own limit without a name is called 1, 2, … by its position.
func (b *builder) combine(p *Policy, fields *policyFields, parents []string) error {
	rest := fields.LimitFields
	rest.All = nil
	if name := rest.firstSet(); name != "" {
		return invalid(name, "set", "no other limit beside all")
	}
	if len(fields.All) == 0 {
		return invalid("all", "empty", "1 to 32 limits or names of policies")
	}
	for i := range fields.All {
		if err := b.combineOne(p, &fields.All[i], i, parents); err != nil {
			return atField(err, "all", strconv.Itoa(i))
		}
	}
	if len(p.members) > engine.MaxCharges {
		return invalid("all", strconv.Itoa(len(p.members))+" limits", allAccepted)
	}
	return b.distinct(p)
}

func (b *builder) combineOne(p *Policy, spec *LimitSpec, i int, parents []string) error {
	if other, ok := b.set.byName[spec.Text]; ok {
		if err := b.build(other.Name, parents); err != nil {
			return err
		}
		if other.Enabled {
			p.members = append(p.members, other.members...)
		}
		return nil
	}
	if engine.CheckPolicyName(spec.Text) == nil {
		return fmt.Errorf("no policy %s in this file", quote(spec.Text))
	}
	limit, err := spec.buildNamed(i + 1)
	if err != nil {
		return err
	}
	p.members = append(p.members, member{limit: limit, policy: p, spec: *spec, space: Space(p.Name), shadow: p.Shadow})
	return nil
}

// distinct rejects two members with one counter.
func (b *builder) distinct(p *Policy) error {
	type counter struct{ space, algorithm, name string }
	seen := map[counter]bool{}
	for _, m := range p.members {
		c := counter{m.space, m.limit.Algorithm().String(), m.limit.Name()}
		if seen[c] {
			return invalid("all", c.algorithm+" "+c.name+" twice", "limits of one algorithm with different names")
		}
		seen[c] = true
	}
	return nil
}

// override adds one override to its policy.
func (b *builder) override(o *overrideFields) error {
	if o.Policy == nil {
		return invalid("policy", "not set", "the name of a policy")
	}
	p, ok := b.set.Get(*o.Policy)
	if !ok {
		return invalid("policy", quote(*o.Policy), "the name of a policy in this file")
	}
	if p.combined {
		return invalid("policy", quote(*o.Policy), "a policy with one limit; override those inside its all")
	}
	if b.broken[p.Name] {
		return nil // its error was reported
	}
	if o.Key == nil || *o.Key == "" || len(*o.Key) > engine.MaxKeyBytes {
		return invalid("key", "not set or too long", "a key of 1 to 1024 bytes, or a pattern with *")
	}
	limit, err := o.limit(p.members[0].spec)
	if err != nil {
		return err
	}
	return b.rules[p.Name].add(*o.Key, limit)
}

// limit returns the limit of the override's keys; spec is that of the policy.
func (o *overrideFields) limit(spec LimitSpec) (headgate.Limit, error) {
	given := 0
	for _, set := range []bool{o.Set != nil, o.Deny != nil && *o.Deny, o.Unlimited != nil && *o.Unlimited} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return headgate.Limit{}, invalid("set", strconv.Itoa(given)+" of set, deny, unlimited", "exactly one of them")
	case o.Set == nil && o.Deny != nil && *o.Deny:
		return headgate.DenyAll(), nil
	case o.Set == nil:
		return headgate.NoLimit(), nil
	case spec.Text != "":
		return headgate.Limit{}, invalid("set", "on a policy written as text", "a policy written as fields")
	}
	fields := spec.LimitFields
	fields.overlay(o.Set)
	limit, err := fields.build()
	return limit, atField(err, "set")
}
