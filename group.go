package headgate

import "github.com/headgate/headgate/engine"

// group is the limits of a request: all of them, or the first that has room.
type group struct {
	limits    []Limit
	firstPays bool
}

// charges appends the charges of a request for so many units.
func (g group) charges(to []engine.Charge, units int64) []engine.Charge {
	for i, limit := range g.limits {
		c := engine.Charge{Limit: limit, Cost: units}
		if g.firstPays {
			c.Choice = uint8(i + 1) //nolint:gosec // there are at most 32
		}
		to = append(to, c)
	}
	return to
}

// First returns the policy with other rules: the first of its limits that has room pays, in one atomic step,
// and the others are not charged. A request is denied if no limit has room, with the shortest of their waits.
// [Decision.Paid] names the limit that paid. What a reservation or [Policy.Charge] settles belongs to it.
//
// AtMost and Give do not say which limit they mean and are errors, as are concurrency limits and limits that count
// denials. On a Cluster the limits of a key are on one slot anyway; in a list of charges with other keys, put the same text in
// braces into all of them.
//
// With 1000 a month included and 50 credits that do not refill, the request after the thousandth of a month costs
// a credit.
func (p *Policy) First() *Policy {
	first := *p
	first.firstPays, first.bound = true, nil
	first.listed = first.group.listed()
	return &first
}
