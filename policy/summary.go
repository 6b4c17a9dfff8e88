package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/internal/glob"
)

// Summary describes a policy for `headgate check`, operators and other tools. Its limits are texts such as "100/s burst
// 200"; its settings and overrides are as in a file.
type Summary struct {
	Name   string   `json:"name"`
	Limits []string `json:"limits"`
	Settings

	Overrides []OverrideSummary `json:"overrides,omitempty"`
}

// OverrideSummary is the limit of a key, or of the keys that match a pattern.
type OverrideSummary struct {
	Of    string `json:"of,omitempty"` // one limit of a policy with "all" or "first"
	Key   string `json:"key"`
	Limit string `json:"limit"`
}

// Summaries describes all policies, sorted by name.
func (s *Set) Summaries() []Summary {
	all := make([]Summary, 0, len(s.Names()))
	for _, name := range s.Names() {
		all = append(all, s.byName[name].Summary())
	}
	return all
}

// Rule returns the key, as text, or pattern of the override that set the limit. ok is false if no override did. The parameters
// key and names are the same as in [Policy.Charges]. Rule tries one pattern after another.
func (c *Charge) Rule(key string, names ...string) (name string, ok bool) {
	if !c.Override {
		return "", false
	}
	if name, ok := c.rules.exactRule(key, names); ok {
		return KeyText(name), true
	}
	c.rules.patterns.Each(func(pattern string, _ rule) {
		if matcher := glob.New(pattern); !ok && matcher.Match(key) {
			name, ok = pattern, true
		}
	})
	return name, ok
}

// HasOverrides reports whether any limit of the policy has an override.
func (p *Policy) HasOverrides() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return m.rules.any() }) ||
		slices.ContainsFunc(p.groups, func(g group) bool { return g.policy.rules.any() })
}

// overrides returns the overrides of the whole policy, then the classes of keys, then the overrides of each of its own
// limits. Each group is in order of precedence.
func (p *Policy) overrides() (all []OverrideSummary) {
	add := func(target string, rules *overrides) {
		rules.each(func(key string, limit rule) {
			all = append(all, OverrideSummary{Of: strings.TrimPrefix(target, p.Name+"/"), Key: key, Limit: limit.String()})
		})
	}
	add(p.Name+"/", p.rules)
	p.classes.keys.each(func(key, class string) {
		all = append(all, OverrideSummary{Key: key, Limit: "class " + class})
	})
	for i := range p.members {
		if m := &p.members[i]; p.combined && m.policy == p {
			add(m.target, m.rules)
		}
	}
	return all
}

// defaults are the settings of a policy that sets none.
var defaults = defaultPolicy("").settings()

// NonDefaults returns the settings that differ from the defaults, such as "cost 5", in the order of the fields.
func NonDefaults(s *Settings) (settings []string) {
	own, usual := reflect.ValueOf(s).Elem(), reflect.ValueOf(defaults)
	for i := range own.NumField() {
		name, _, _ := strings.Cut(own.Type().Field(i).Tag.Get("json"), ",")
		if reflect.DeepEqual(own.Field(i).Interface(), usual.Field(i).Interface()) {
			continue
		}
		switch v := own.Field(i).Interface().(type) {
		case bool:
			if !v {
				name = "not " + name
			}
		case []string:
			name += " " + strings.Join(v, ", ")
		default:
			name += fmt.Sprint(" ", v)
		}
		settings = append(settings, name)
	}
	return settings
}
