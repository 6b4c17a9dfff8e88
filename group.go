package headgate

import (
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
)

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

// Leaving returns the policy for a class of requests that leaves a percentage of every limit, 0 to 99, to the other requests: ⌈percent
// of each capacity⌉ units must remain after it. Both policies count the same units, and the bound of each limit stays
// as it is. A decision under the returned policy says what remains for the class.
//
// It is an error of every verb if a limit has no unit left for the class, and on pacers and with NextPays ([Policy.Err]).
//
// With 100 a second and a burst of 200, a policy that leaves 10 % is denied while fewer than 20 units would remain.
func (p *Policy) Leaving(percent int) *Policy {
	lowered := slices.Clone(p.limits)
	for i, limit := range p.limits {
		var err error
		if lowered[i], err = limit.Leaving(engine.Leave{Percent: int64(percent)}); err == nil && (percent < 0 || percent > 99) {
			err = &InputError{Field: "percent", Value: strconv.Itoa(percent), Accepted: "0 to 99"}
		}
		if err != nil {
			lowered[i] = engine.Invalid(err)
		}
	}
	class := *p
	class.limits = lowered
	class.bind()
	return &class
}
