package envoy

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// MaxPolicies is the maximum number of rules in a configuration that get policies. Further rules still decide, but
// operators cannot change them, because they have no name.
const MaxPolicies = 10_000

// policyName returns the name of a rule's policy: "envoy." followed by the rule's path, such as envoy.shop.user_joe.
// Bytes that are not allowed in policy names become hyphens. If that changes the path, or if the name is too long or
// already used, the name ends with part of the path's SHA-256. After [MaxPolicies] names, it returns "".
func (b *builder) policyName(fullKey string) string {
	if b.limited++; len(b.names) == MaxPolicies {
		return ""
	}
	name := policyPrefix + fullKey
	if engine.CheckPolicyName(name) != nil || b.names[name] {
		name = b.hashedName(fullKey, "")
	}
	for n := 2; b.names[name]; n++ { // if domains or keys contain dots, two rules can have the same path
		name = b.hashedName(fullKey, " "+strconv.Itoa(n))
	}
	b.names[name] = true
	return name
}

const (
	policyPrefix  = "envoy."
	maxPolicyName = 64
	hashedBytes   = 4
)

func (*builder) hashedName(fullKey, nth string) string {
	sum := sha256.Sum256([]byte(fullKey + nth))
	end := "-" + hex.EncodeToString(sum[:hashedBytes])
	name := policyPrefix + strings.Map(func(c rune) rune {
		if engine.CheckPolicyName("_"+string(c)) != nil {
			return '-'
		}
		return c
	}, fullKey)
	return name[:min(len(name), maxPolicyName-len(end))] + end
}

// Policies returns the policies of all rules that have a limit.
func (c *Config) Policies(failure policy.Failure) (external []policy.External) {
	for _, r := range c.rules {
		if r.policy == "" {
			continue
		}
		m := policy.External{Name: r.policy, Limit: r.quota.limit, Space: r.space, Failure: failure, Shadow: r.shadow, Classes: r.classes.all}
		if r.quota.blocked() {
			m.Limit = engine.DenyAll()
		}
		external = append(external, m)
	}
	return external
}

// Counts reports whether a rule's policy counts a key. Rules of a domain with equal limits share one counter for equal
// keys, so the state of a key does not tell which of them has counted it. Counts is true for policies without a rule,
// and for keys that do not contain their entries, such as hashes.
func (s *Service) Counts(name, space, key string) bool {
	domain, ofRule := strings.CutPrefix(space, Space)
	c := s.config.Load()
	if !ofRule || c == nil || c.domains[domain] == nil {
		return true
	}
	rule := c.domains[domain].find(entriesOf(key), new(buffers)).rule
	return rule == nil || rule.policy == name
}
