package policy

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// maxNoted is the maximum number of names listed in one note.
const maxNoted = 10

// Notes reports settings in a valid file that have no effect. Without routes, it reports policies with only a penalty.
// With routes, it instead reports routes of this kind, routes that are hidden by an earlier route, overrides for keys
// that no route produces, and policies that no route names. Such settings are not errors, because a request can also
// name a policy and a key itself. With routes, Notes also reports routes that only the gateway accepts, policies
// that count addresses and a text of the client alike, limits for all clients whose numbers are shown, proxies that are
// all the world, segments in another program's syntax, and conditions on headers that no request has. In both cases it
// reports limits that cannot be used in full.
func (c *Config) Notes() []string { return append(c.routeNotes(), c.usableNotes()...) }

func (c *Config) routeNotes() []string {
	routes := c.Routes.Routes()
	if len(routes) == 0 {
		return c.penaltyNotes()
	}
	by := c.chargesByPolicy()
	return slices.Concat(
		c.hiddenNotes(), c.punishingNotes(routes), c.freeNotes(routes), c.holdingNotes(routes),
		c.proxyNotes(), literalNotes(routes), conditionNotes(routes),
		c.victimNotes(by), c.collisionNotes(by), c.uncountedNotes(routes), c.keyNotes(by), c.sharedNotes(by), c.unnamedNotes(by),
	)
}

// unnamedNotes reports the policies that no route names.
func (c *Config) unnamedNotes(by map[string][]*route.Charge) []string {
	var unnamed []string
	for _, name := range c.Policies.Names() {
		if len(by[name]) == 0 {
			unnamed = append(unnamed, name)
		}
	}
	if len(unnamed) == 0 {
		return nil
	}
	text := "no route names these policies, so they are for requests that name them: " + strings.Join(unnamed[:min(len(unnamed), maxNoted)], ", ")
	if more := len(unnamed) - maxNoted; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []string{text}
}

// hiddenNotes reports routes that are hidden by an earlier route.
func (c *Config) hiddenNotes() []string {
	var all []string
	for _, h := range c.Routes.Hidden() {
		all = append(all, fmt.Sprintf("route %d matches no request: route %d comes first and matches all of them", h.Route, h.By))
	}
	return firstNotes(all, "%d more routes match no request")
}

// ShareNotes reports the limits with failure mode local that n processes cannot divide while the store is unavailable: a
// limit below n, and a policy whose usual cost exceeds a process's share ([engine.Shares]). It also reports shares that
// refill slowly.
func (c *Config) ShareNotes(n int) []string {
	if n == 1 {
		return nil // one server has the whole limit
	}
	var small []string
	c.local(func(p *Policy, limit engine.Limit) {
		for _, share := range engine.Shares(limit, int64(n)) {
			text := "while the store is unavailable, each of " + strconv.Itoa(n) + " servers admits "
			switch units := share.Capacity(); {
			case p.Cost > units:
				small = append(small, fmt.Sprintf("%sup to %d units at once of policy %s, and denies its usual cost of %d", text, units, p.Name, p.Cost))
			case limit.Capacity() < int64(n):
				small = append(small, text+"one unit of policy "+p.Name+", although its limit is "+limit.String())
			}
		}
	})
	return append(firstNotes(small, "%d more limits cannot be divided while the store is unavailable"), c.slowShares(n)...)
}

// longUnit is the time for one unit of a share from which a limit is reported by [Config.ShareNotes].
const longUnit = 5 * time.Minute

// slowShares reports the limits with failure mode local whose shares refill so slowly that a server which starts while
// the store is unavailable, with empty shares, denies for long.
func (c *Config) slowShares(n int) []string {
	var all []string
	c.local(func(p *Policy, limit engine.Limit) {
		for _, share := range engine.Shares(limit, int64(n)) {
			rate := share.Rates()[0]
			if unit := rate.Period / time.Duration(max(rate.Count, 1)); unit >= longUnit {
				all = append(all, "a server that starts while the store is unavailable denies policy "+p.Name+" for up to "+engine.FormatSpan(unit.Round(time.Minute))+
					", because one of "+strconv.Itoa(n)+" shares of "+limit.String()+" gets its first unit then: use failure: allow if that does more harm than no limit")
				break
			}
		}
	})
	return firstNotes(all, "%d more limits have shares that refill slowly")
}

// local calls do for each limit that shares decide while the store is unavailable.
func (c *Config) local(do func(p *Policy, limit engine.Limit)) {
	for _, name := range c.Policies.Names() {
		p, _ := c.Policies.Get(name)
		if !p.Enabled || p.Answers() != Local {
			continue
		}
		for i := range p.members {
			if limit := p.members[i].limit; !limit.Punishes() && !limit.Algorithm().Constant() {
				do(p, limit)
			}
		}
	}
}

// penaltyNotes reports policies with only a penalty.
func (c *Config) penaltyNotes() []string {
	var only []string
	for _, name := range c.Policies.Names() {
		if p, _ := c.Policies.Get(name); p.punishesOnly() {
			only = append(only, "policy "+name+" is only a penalty, which counts the denials of other limits: charge it together with another policy, or put both into one policy with all")
		}
	}
	return firstNotes(only, "%d more policies are only a penalty")
}

// punishesOnly reports whether all limits of a policy are penalties.
func (p *Policy) punishesOnly() bool {
	return !slices.ContainsFunc(p.members, func(m member) bool { return !m.limit.Punishes() })
}

// policiesOf returns the policies that a route charges, in order.
func (c *Config) policiesOf(r *route.Route) iter.Seq[*Policy] {
	return func(yield func(*Policy) bool) {
		for _, charge := range r.Charges {
			for _, name := range charge.Policies {
				if p, ok := c.Policies.Get(name); ok && !yield(p) {
					return
				}
			}
		}
	}
}

// holdingNotes reports routes that charge concurrency policies.
func (c *Config) holdingNotes(routes []route.Route) []string {
	var all []string
	for i := range routes {
		for p := range c.policiesOf(&routes[i]) {
			if p.holds() {
				all = append(all, fmt.Sprintf("route %d charges a concurrency policy, so only headgate gateway accepts this file: it holds the permits while a request lasts", i))
				break
			}
		}
	}
	return firstNotes(all, "%d more routes charge concurrency policies")
}

// punishingNotes reports routes that charge only penalties.
func (c *Config) punishingNotes(routes []route.Route) []string {
	var only []string
	for i := range routes {
		other := false
		for _, charge := range routes[i].Charges {
			for _, name := range charge.Policies {
				p, ok := c.Policies.Get(name)
				other = other || !ok || !p.punishesOnly()
			}
		}
		if !other {
			only = append(only, fmt.Sprintf("route %d denies no request: a penalty counts the denials of other limits, and the route has none", i))
		}
	}
	return firstNotes(only, "%d more routes have only penalties")
}

// keyNotes reports overrides for keys that no route produces.
func (c *Config) keyNotes(by map[string][]*route.Charge) []string {
	var all []string
	for _, name := range c.Policies.Names() {
		charges := by[name]
		if len(charges) == 0 {
			continue
		}
		c.Policies.byName[name].rules.each(func(key string, _ rule) {
			if !slices.ContainsFunc(charges, func(c *route.Charge) bool { return c.MayCount(OverrideKey(key)) }) {
				all = append(all, fmt.Sprintf("no request of a route has the key %s of an override of policy %s; the first route with this policy counts by %s",
					engine.Quote(key), name, strings.Join(keyOf(charges[0]), ", ")))
			}
		})
	}
	return firstNotes(all, "%d more overrides are of keys that no request of a route has")
}

// victimNotes reports policies that one charge counts by the client's address and another by a text that clients write:
// a client that writes a victim's address there spends the victim's units.
func (c *Config) victimNotes(by map[string][]*route.Charge) []string {
	var all []string
	for _, name := range c.Policies.Names() {
		for _, of := range by[name] {
			if i := slices.IndexFunc(by[name], func(other *route.Charge) bool { return canImitate(other.Key, of.Key) }); i >= 0 {
				all = append(all, fmt.Sprintf("policy %s is counted by %s and by %s, so a client that sends another client's address spends its units: use a policy for each, or begin one of the keys with a const",
					name, strings.Join(keyOf(of), ", "), strings.Join(keyOf(by[name][i]), ", ")))
				break
			}
		}
	}
	return firstNotes(all, "%d more policies are counted by an address and by a text of the client")
}

// collisionNotes reports policies that two charges count by different texts, so that equal texts are one key.
func (c *Config) collisionNotes(by map[string][]*route.Charge) []string {
	var all []string
	for _, name := range c.Policies.Names() {
		for i, of := range by[name] {
			j := slices.IndexFunc(by[name][i+1:], func(other *route.Charge) bool { return collide(of.Key, other.Key) })
			if j >= 0 {
				all = append(all, fmt.Sprintf("policy %s is counted by %s and by %s, and equal texts are one key: use a policy for each, or begin each key with a const, unless they name the same thing",
					name, strings.Join(keyOf(of), ", "), strings.Join(keyOf(by[name][i+1+j]), ", ")))
				break
			}
		}
	}
	return firstNotes(all, "%d more policies are counted by texts that can be equal")
}

// collide reports whether a client can write texts so that two different keys are equal. Keys of addresses are left to
// [canImitate].
func collide(a, b []route.Part) bool {
	written := func(p route.Part) bool { return p.From != route.FromClient && p.From != route.FromConst }
	if len(a) != len(b) || slices.Equal(a, b) {
		return false
	}
	for i := range a {
		address := a[i].From == route.FromClient || b[i].From == route.FromClient
		if a[i] != b[i] && (address || !written(a[i]) && !written(b[i])) {
			return false
		}
	}
	return true
}

// uncountedNotes reports routes that take requests away from a later, wider route whose policies they do not charge.
func (c *Config) uncountedNotes(routes []route.Route) []string {
	charged := func(i int) map[string]bool {
		all := map[string]bool{}
		for p := range c.policiesOf(&routes[i]) {
			maps.Copy(all, c.charged(p.Name))
		}
		return all
	}
	var all []string
	for _, pair := range c.Routes.Narrower() {
		var lost []string
		own := charged(pair.Route)
		for p := range c.policiesOf(&routes[pair.Wider]) {
			if !own[p.Name] && !slices.Contains(lost, p.Name) {
				lost = append(lost, p.Name)
			}
		}
		if len(lost) > 0 {
			all = append(all, fmt.Sprintf("route %d does not count its requests under %s of route %d, which matches them too, because only the first route counts: name the policy in both routes if its limit is for all requests",
				pair.Route, strings.Join(lost, ", "), pair.Wider))
		}
	}
	return firstNotes(all, "%d more routes take requests away from a wider route")
}

// canImitate reports whether a client can write texts so that a key equals another key, which contains the address of a
// client. A key of one part is that part, without escaping, so it can be any key.
func canImitate(key, other []route.Part) bool {
	address := func(p route.Part) bool { return p.From == route.FromClient }
	written := func(p route.Part) bool { return p.From != route.FromClient && p.From != route.FromConst }
	switch {
	case !slices.ContainsFunc(other, address):
		return false
	case len(key) == 1 && written(key[0]):
		return true
	case len(key) != len(other):
		return false
	}
	imitated := false
	for i := range key {
		imitated = imitated || address(other[i]) && written(key[i])
		if !written(key[i]) && key[i] != other[i] {
			return false
		}
	}
	return imitated
}

// firstNotes returns the first notes, and a note with the number of the others, in the format more.
func firstNotes(all []string, more string) []string {
	if others := len(all) - maxNoted; others > 0 {
		return append(all[:maxNoted], fmt.Sprintf(more, others))
	}
	return all
}

// chargesByPolicy returns the routes' charges for each policy, including charges through the "all" of another policy.
func (c *Config) chargesByPolicy() map[string][]*route.Charge {
	by, routes := map[string][]*route.Charge{}, c.Routes.Routes()
	for i := range routes {
		for j := range routes[i].Charges {
			charge := &routes[i].Charges[j]
			for _, name := range charge.Policies {
				for name := range c.charged(name) {
					by[name] = append(by[name], charge)
				}
			}
		}
	}
	return by
}

// charged returns the policies that a request under this policy charges.
func (c *Config) charged(name string) map[string]bool {
	all := map[string]bool{name: true}
	p, ok := c.Policies.Get(name)
	if !ok {
		return all // cannot happen in a checked file
	}
	for _, m := range p.members {
		all[m.policy.Name] = true
	}
	for _, g := range p.groups {
		all[g.policy.Name] = true
	}
	return all
}
