package policies

import (
	"strings"

	"github.com/headgate/headgate/policy"
)

// Describe describes a change's target under a configuration in one line: a policy with its settings, or a key's
// limits. It returns "none" if there is no such policy.
func Describe(c *policy.Config, target, key string) string {
	name, _, _ := strings.Cut(target, "/") // the target can be one limit of a policy, such as free/minute
	p, ok := c.Policies.Get(name)
	if !ok {
		return "none"
	}
	if key == "" {
		s := p.Summary()
		return strings.Join(append([]string{strings.Join(s.Limits, " + ")}, policy.NonDefaults(&s.Settings)...), ", ")
	}
	var limits []string
	key = policy.OverrideKey(key)
	for _, charge := range p.Charges(nil, key, p.Cost) {
		if charge.Candidate {
			continue
		}
		text := charge.Limit.String()
		if own := charge.InClasses(key); len(own) == 1 {
			text += " class " + own[0].Class
		}
		limits = append(limits, text)
	}
	return strings.Join(limits, " + ")
}
