package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"

	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/policy/internal/glob"
)

// Summary describes a policy as text, for `headgate check` and other tools: its name, its limits, and its settings and
// overrides as in a file.
type Summary = adminapi.Summary

// Summaries describes all policies, sorted by name.
func (s *Set) Summaries() []Summary {
	all := make([]Summary, 0, len(s.Names()))
	for _, name := range s.Names() {
		all = append(all, s.byName[name].Summary())
	}
	return all
}

// Summary describes the policy.
func (p *Policy) Summary() Summary {
	replicas := ""
	if p.Replicas.Count > 0 {
		replicas = p.Replicas.String()
	}
	estimateMax := ""
	if p.EstimateMax {
		estimateMax = estimateAccepted
	}
	settleWithin, unsettled := "", ""
	if t := p.Term; t != nil {
		settleWithin, unsettled = engine.FormatSpan(t.Within), t.Then.String()
	}
	return Summary{
		SettleWithin: settleWithin, Unsettled: unsettled,
		Replicas: replicas, EstimateMax: estimateMax, Name: p.Name, Limits: p.Limits(), First: p.choosing == p, Failure: p.Failure.String(), Mode: p.Mode(), Headers: string(p.Headers),
		Unit: p.Unit, Classes: p.classes.texts(),
		Cost: p.Cost, Shadow: p.Shadow, Candidate: p.Candidate(), Enabled: p.Enabled, Overrides: p.overrides(),
	}
}

// Rule returns the key or pattern of the override that set the limit. ok is false if no override did. The parameters
// key and names are the same as in [Policy.Charges]. Rule tries one pattern after another.
func (c *Charge) Rule(key string, names ...string) (rule string, ok bool) {
	if !c.Override {
		return "", false
	}
	if rule, ok := c.rules.exactRule(key, names); ok {
		return rule, true
	}
	c.rules.patterns.Each(func(pattern string, _ engine.Limit) {
		if matcher := glob.New(pattern); !ok && matcher.Match(key) {
			rule, ok = pattern, true
		}
	})
	return rule, ok
}

// HasOverrides reports whether any limit of the policy has an override.
func (p *Policy) HasOverrides() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.rules.any() }) ||
		slices.ContainsFunc(p.groups, func(g group) bool { return g.policy.rules.any() })
}

// overrides returns the overrides of the policy in order of precedence.
func (p *Policy) overrides() (all []adminapi.OverrideSummary) {
	add := func(target string, rules *overrides) {
		rules.each(func(key string, limit engine.Limit) {
			all = append(all, adminapi.OverrideSummary{Of: strings.TrimPrefix(target, p.Name+"/"), Key: key, Limit: limit.String()})
		})
	}
	add(p.Name+"/", p.rules)
	p.classes.keys.each(func(key, class string) {
		all = append(all, adminapi.OverrideSummary{Key: key, Limit: "class " + class})
	})
	for i := range p.members {
		if m := &p.members[i]; p.combined && m.policy == p {
			add(m.target, m.rules)
		}
	}
	return all
}

// NonDefaults returns the settings that differ from the defaults, such as "cost 5".
func NonDefaults(s *Summary) (settings []string) {
	if s.First {
		settings = append(settings, "first")
	}
	if s.Failure != Local.String() {
		settings = append(settings, "failure "+s.Failure)
	}
	if s.Mode != "exact" {
		settings = append(settings, "mode "+s.Mode)
	}
	if s.Headers != string(HeadersDraft) {
		settings = append(settings, "headers "+s.Headers)
	}
	if s.Cost != 1 {
		settings = append(settings, "cost "+strconv.FormatInt(s.Cost, 10))
	}
	if s.Unit != "" {
		settings = append(settings, "unit "+s.Unit)
	}
	if len(s.Classes) > 0 {
		settings = append(settings, "classes "+strings.Join(s.Classes, ", "))
	}
	if s.EstimateMax != "" {
		settings = append(settings, "estimate_max "+s.EstimateMax)
	}
	if s.SettleWithin != "" {
		settings = append(settings, "settle_within "+s.SettleWithin, "unsettled "+s.Unsettled)
	}
	if s.Replicas != "" {
		settings = append(settings, "replicas "+s.Replicas)
	}
	if s.Shadow {
		settings = append(settings, "shadow")
	}
	if s.Candidate != "" {
		settings = append(settings, "candidate "+s.Candidate)
	}
	if !s.Enabled {
		settings = append(settings, "not enabled")
	}
	return settings
}
