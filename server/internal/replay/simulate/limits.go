package simulate

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// charged identifies a route's charge that is counted by a limit, with the cost that the policy sets.
type charged struct {
	charge uint16 // its index
	cost   int64
}

// chargesOf returns the charges of all routes in order. Charges are identified by their index.
func chargesOf(c *policy.Config) (all []*route.Charge) {
	routes := c.Routes.Routes()
	for i := range routes {
		for j := range routes[i].Charges {
			all = append(all, &routes[i].Charges[j])
		}
	}
	return all
}

// limitsMemo caches the limits of keys. If there are no overrides, keys with the same charges have the same limits.
type limitsMemo struct {
	config  *policy.Config
	charges []*route.Charge
	same    bool
	known   map[uint64]map[string]map[engine.Limit][]charged
}

func hasOverrides(c *policy.Config) bool {
	for _, name := range c.Policies.Names() {
		if p, ok := c.Policies.Get(name); ok && p.HasOverrides() {
			return true
		}
	}
	return false
}

// of returns a key's limits by policy, with the charges for each limit.
func (m *limitsMemo) of(at *key) map[string]map[engine.Limit][]charged {
	if !m.same {
		return limitsOf(m.config, m.charges, at)
	}
	limits, ok := m.known[at.charges]
	if !ok {
		limits = limitsOf(m.config, m.charges, at)
		m.known[at.charges] = limits
	}
	return limits
}

// limitsOf returns a key's limits by policy, with the charges for each limit.
func limitsOf(c *policy.Config, charges []*route.Charge, at *key) map[string]map[engine.Limit][]charged {
	limits := map[string]map[engine.Limit][]charged{}
	for place, of := range charges {
		if at.charges&(1<<min(place, maxCharges-1)) == 0 {
			continue
		}
		// An empty item yields the costs set by the policies. A cost read from the request is recorded with the
		// request.
		all, _ := c.Policies.ForRoute(nil, of, &route.Item{}, at.text)
		for j := range all {
			charge := &all[j]
			if charge.Shadow || charge.Space == "" && charge.Limit.Unlimited() {
				continue
			}
			if limits[charge.Policy] == nil {
				limits[charge.Policy] = map[engine.Limit][]charged{}
			}
			limits[charge.Policy][charge.Limit] = append(limits[charge.Policy][charge.Limit], charged{uint16(place), charge.Cost})
		}
	}
	return limits
}
