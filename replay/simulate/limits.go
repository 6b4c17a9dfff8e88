package simulate

import (
	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// routed is a route that charges a limit, and the cost by the policy.
type routed struct {
	route uint16
	cost  int64
}

// limitsMemo finds the limits of keys. Without overrides, keys with the same routes have the
// same limits.
type limitsMemo struct {
	config *policy.Config
	same   bool
	known  map[uint64]map[string]map[headgate.Limit][]routed
}

func hasOverrides(c *policy.Config) bool {
	for _, name := range c.Policies.Names() {
		if p, ok := c.Policies.Get(name); ok && p.HasOverrides() {
			return true
		}
	}
	return false
}

// of returns the limits of a key by policy, and for each the routes that charge it.
func (m *limitsMemo) of(at *key) map[string]map[headgate.Limit][]routed {
	if !m.same {
		return limitsOf(m.config, at)
	}
	limits, ok := m.known[at.routes]
	if !ok {
		limits = limitsOf(m.config, at)
		m.known[at.routes] = limits
	}
	return limits
}

// limitsOf returns the limits of a key by policy, and for each the routes that charge it.
func limitsOf(c *policy.Config, at *key) map[string]map[headgate.Limit][]routed {
	routes := c.Routes.Routes()
	limits := map[string]map[headgate.Limit][]routed{}
	for i := range routes {
		if at.routes&(1<<min(i, maxRoutes-1)) == 0 {
			continue
		}
		// The costs are those of the policies: a cost of the request is recorded with it.
		charges, _ := c.Policies.ForRoute(nil, &route.Match{Route: &routes[i], Index: i}, at.text)
		for j := range charges {
			charge := &charges[j]
			if charge.Shadow || charge.Space == "" && charge.Limit.Unlimited() {
				continue
			}
			if limits[charge.Policy] == nil {
				limits[charge.Policy] = map[headgate.Limit][]routed{}
			}
			limits[charge.Policy][charge.Limit] = append(limits[charge.Policy][charge.Limit], routed{uint16(i), charge.Cost})
		}
	}
	return limits
}
