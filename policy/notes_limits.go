package policy

import (
	"fmt"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/route"
)

// leastUsable is the part of a limit, in percent, below which a note says that the limit cannot be used in full.
const leastUsable = 90

// usable returns the part of a sliding window's limit, in percent, that a key gets if it always sends as soon as it can.
// A strict window admits its count in each period plus one segment. A weighted window admits at least that, or one
// unit less than its count in each period.
func usable(l engine.Limit) int64 {
	n := l.Numbers()
	least := int64(100)
	if n.Segment == 0 || n.Variant == algo.Lenient { // only sliding windows have segments
		return least
	}
	for _, w := range n.Windows() {
		k := w.Span / n.Segment
		part := 100 * k / (k + 1)
		if n.Variant == algo.Weighted {
			part = max(part, 100-min(100, (100+w.Limit-1)/w.Limit))
		}
		least = min(least, part)
	}
	return least
}

// usableNotes reports limits that a key can never use in full.
func (c *Config) usableNotes() []string {
	var all []string
	for _, name := range c.Policies.Names() {
		p, _ := c.Policies.Get(name)
		for i := range p.members {
			m := &p.members[i]
			if part := usable(m.limit); part < leastUsable && m.policy == p {
				all = append(all, fmt.Sprintf("a key that always sends gets about %d %% of the limit of policy %s, %s, because its oldest segment still counts: use the variant strict with more segments, or a sliding-log", part, name, m.limit))
			}
		}
	}
	return firstNotes(all, "%d more limits cannot be used in full")
}

// sharedNotes reports policies that count all requests of a route under one key and show their numbers to each client.
func (c *Config) sharedNotes(by map[string][]*route.Charge) []string {
	var shown []string
	for _, name := range c.Policies.Names() {
		p, _ := c.Policies.Get(name)
		own := slices.ContainsFunc(p.members, func(m member) bool { return m.policy == p })
		if own && p.Headers != HeadersOff && p.Enabled && !p.Shadow && slices.ContainsFunc(by[name], ofAll) {
			shown = append(shown, "policy "+name+" counts all clients under one key, and its rate-limit headers show each of them how much all have left: headers: off hides it")
		}
	}
	return firstNotes(shown, "%d more policies show a limit for all")
}

// ofAll reports whether a charge has the same key for all requests.
func ofAll(charge *route.Charge) bool {
	return !slices.ContainsFunc(charge.Key, func(p route.Part) bool { return p.From != route.FromConst })
}
