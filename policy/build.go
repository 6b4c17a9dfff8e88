package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// set builds the policies and reports the first error of each limit. It begins with the settings of every policy, so that
// limits can refer to later policies. The limits and then the overrides follow.
func (f *file) set(pause yamlfile.Pauser, report func(error)) *builder {
	b := &builder{
		file: f, set: &Set{byName: map[string]*Policy{}, names: sortedKeys(f.Policies)},
		broken: map[string]bool{}, report: report,
	}
	for i, name := range b.set.names {
		pause.Pause()
		p := newPolicy(name, f.Policies[name], func(err error) {
			b.broken[name] = true
			report(atField(err, "policies", name))
		})
		if f.Policies[name].broken { // build skips it
			b.broken[name] = true
		}
		p.index, p.rules = i, &overrides{}
		b.set.byName[name] = p
	}
	for _, name := range b.set.names {
		pause.Pause()
		_ = b.build(name, nil) // build has reported its error
	}
	for i := range f.Overrides {
		pause.Pause()
		o := &f.Overrides[i]
		err := b.override(o)
		noPolicy := o.Policy != nil && b.set.byName[*o.Policy] == nil
		if err != nil && (!o.broken || noPolicy) {
			report(atField(err, "overrides", strconv.Itoa(i)))
		}
	}
	for _, name := range b.set.names {
		if p := b.set.byName[name]; p.choosing == p && !b.broken[name] {
			if err := p.checkOverrides(); err != nil {
				report(atField(err, "policies", name))
			}
		}
	}
	return b
}

type builder struct {
	file   *file
	set    *Set
	broken map[string]bool // policies with a reported error
	report func(error)
	// guesses counts the unknown names that were compared with the names of all policies.
	guesses int
}

// maxGuesses is the maximum number of unknown names in a file that get a hint.
const maxGuesses = 100

// nearest returns the most similar policy name. If a file has many unknown names, it returns "" except for the first
// ones.
func (b *builder) nearest(name string, names []string) string {
	if b.guesses++; b.guesses > maxGuesses {
		return ""
	}
	return yamlfile.Nearest(name, names)
}

// errBroken stops the build of a policy if its error, or the error of a policy under its "all" or "first", was already
// reported.
var errBroken = errors.New("a policy inside all is broken")

// build builds the limits of a policy, if they are not built yet, and checks the settings that depend on them.
// parents are the policies whose "all" or "first" contains this policy.
func (b *builder) build(name string, parents []string) error {
	p, fields := b.set.byName[name], b.file.Policies[name]
	if slices.Contains(parents, name) {
		return invalid("all", engine.Quote(name), "policies that do not contain themselves")
	}
	if b.broken[name] {
		return errBroken
	}
	if p.members != nil {
		return nil
	}
	p.source = Source{Policy: p.Name, Owner: p}
	err := b.members(p, fields, parents)
	for i := range settingRows {
		if row := &settingRows[i]; err == nil && row.check != nil && fields.Settings[row.Name] != nil {
			err = row.check(p)
		}
	}
	if err == nil {
		p.trace()
		return nil
	}
	b.broken[name] = true
	if !errors.Is(err, errBroken) {
		b.report(atField(err, "policies", name))
	}
	return errBroken
}

// members builds the limits of one policy.
func (b *builder) members(p *Policy, fields *policyFields, parents []string) error {
	if several := fields.several(); several != nil {
		p.combined = true
		if fields.Settings.shadow().limit != nil {
			return invalid("shadow", "the fields of a limit with "+several.field, "true or false; a policy with one limit can have a candidate, also where "+several.field+" names it")
		}
		return b.combine(p, several, append(parents, p.Name))
	}
	spec := fields.limit()
	limit, err := spec.Build()
	if err != nil {
		return err
	}
	own := member{limit: limit, policy: p, spec: *spec, space: p.space, shadow: p.Shadow, rules: p.rules, target: p.Name}
	if candidate := fields.Settings.shadow().limit; candidate != nil {
		if own.candidate, err = candidate.on(spec); err != nil {
			return atField(err, "shadow")
		}
		if err := sameVerb("shadow", limit, own.candidate); err != nil {
			return err
		}
	}
	p.members = []member{own}
	return nil
}

// combine builds the members under "all" or "first": the members of the named policies, and the policy's own limits.
// Own limits without a name are named 1, 2, … by position.
func (b *builder) combine(p *Policy, s *several, parents []string) error {
	if s.beside != "" {
		return invalid(s.beside, "set", "no other limit with "+s.field)
	}
	if len(s.limits) == 0 {
		return invalid(s.field, "empty", "1 to 32 limits or names of policies")
	}
	p.groups = []group{{policy: p}}
	failed := false
	for i := range s.limits {
		members, groups := len(p.members), len(p.groups)
		err := b.combineOne(p, &s.limits[i], s.field, i, parents)
		if err == nil && s.field == "first" {
			err = p.choose(members, groups, i)
		}
		if failed = failed || err != nil; err != nil && !errors.Is(err, errBroken) {
			b.report(atField(err, "policies", p.Name, s.field, strconv.Itoa(i)))
		}
	}
	if failed {
		return errBroken
	}
	p.groups[0].to, p.groups[0].next = len(p.members), len(p.groups)
	if len(p.members) > engine.MaxCharges {
		return invalid(s.field, strconv.Itoa(len(p.members))+" limits", allAccepted)
	}
	for i := range p.members {
		if err := sameVerb(s.field, p.members[0].limit, p.members[i].limit); err != nil {
			return err
		}
	}
	if err := p.checkChoices(s.field); err != nil {
		return err
	}
	return p.distinct(s.field)
}

// sameVerb returns an error for two limits of a policy if one holds units and the other takes them.
func sameVerb(field string, a, b engine.Limit) error {
	if holds(a) && takes(b) || takes(a) && holds(b) {
		return invalid(field, a.Algorithm().String()+" beside "+b.Algorithm().String(), "concurrency limits alone, or none: acquire is not for other limits, and take not for concurrency")
	}
	return nil
}

func (b *builder) combineOne(p *Policy, spec *LimitSpec, field string, i int, parents []string) error {
	if other, ok := b.set.byName[spec.Text]; ok {
		if err := b.build(other.Name, parents); err != nil {
			return err
		}
		if other.Enabled {
			return p.include(other)
		}
		return nil
	}
	if a, _ := engine.ParseAlgorithm(spec.Text); !a.Constant() && engine.CheckPolicyName(spec.Text) == nil {
		return fmt.Errorf("no policy %s in this file%s", engine.Quote(spec.Text), yamlfile.Question(b.nearest(spec.Text, b.set.names)))
	}
	limit, err := spec.buildNamed(i + 1)
	if err != nil {
		return err
	}
	p.members = append(p.members, member{
		limit: limit, policy: p, spec: *spec, space: p.space, shadow: p.Shadow,
		rules: &overrides{}, target: p.Name + "/" + limit.Name(),
	})
	return nil
}

// include adds the members of another policy, and the groups of members that an override replaces together.
func (p *Policy) include(other *Policy) error {
	if err := p.chooseFrom(other); err != nil {
		return err
	}
	members, groups := len(p.members), len(p.groups)
	p.members = append(p.members, other.members...)
	for _, g := range other.groups {
		p.groups = append(p.groups, group{policy: g.policy, from: g.from + members, to: g.to + members, next: g.next + groups, choice: g.choice})
	}
	return nil
}

// distinct returns an error for two members with the same counter.
func (p *Policy) distinct(field string) error {
	type counter struct{ space, algorithm, name string }
	seen := map[counter]bool{}
	for _, m := range p.members {
		c := counter{m.space, m.limit.Algorithm().String(), m.limit.Name()}
		if seen[c] {
			return invalid(field, c.algorithm+" "+c.name+" twice", "limits of one algorithm with different names")
		}
		seen[c] = true
	}
	return nil
}
