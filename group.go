package headgate

import (
	"errors"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
)

// group holds the limits of a request. A request charges either all of them or only the first one with enough units.
type group struct {
	limits    []engine.Limit
	firstPays bool
}

// charges appends the charges of a request for the given units.
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

// First returns a copy of the policy that charges only the first of its limits that has enough units, in one atomic
// step. If none has enough, the request is denied, and its RetryAfter is the shortest of the limits' waits.
// [Decision.Paid] names the charged limit. A reservation settles on that limit.
//
// AtMost and Give return errors, because they cannot tell which limit to change. Concurrency limits and limits that set
// CountDenied cause errors too. On a Cluster, all limits of a key are in one slot. If a list of charges contains other
// keys too, put the same text in braces into all of its keys.
//
// With limits of 1000 requests a month and of 50 credits that do not refill, the 1001st request of a month costs a
// credit.
func (p *Policy) First() *Policy {
	first := *p.orBroken()
	first.firstPays, first.bound = true, nil
	first.listed = first.group.listed()
	return &first
}

// LeavingPercent returns a copy of the policy for a class of requests that must leave a percentage of every limit, 0 to
// 99, for other requests: after each request of the class, at least ⌈percent of each capacity⌉ units must remain.
// Both policies count the same units, and the bound of each limit does not change. In decisions of the returned
// policy, Remaining is the number of units left for the class.
//
// Every method returns the error of [Policy.Err] if percent is out of range, or if some limit is a pacer, sets NextPays,
// or has too few units: the class needs one unit, or 10 of a [FairShare], and each longer of several windows needs a
// larger count.
//
// With 100 a second and a burst of 200, a policy that leaves 10 % denies requests that would leave fewer than 20
// units.
func (p *Policy) LeavingPercent(percent int) *Policy {
	p = p.orBroken()
	lowered := slices.Clone(p.limits)
	for i, limit := range p.limits {
		var err error
		if percent < 0 || percent > 99 {
			err = &engine.InputError{Field: "percent", Value: strconv.Itoa(percent), Accepted: "0 to 99"}
		} else {
			lowered[i], err = limit.Leaving(engine.Leave{Percent: int64(percent)})
			if input, ok := errors.AsType[*engine.InputError](err); ok && input.Field == "leaves" {
				err = &engine.InputError{Field: "percent", Value: input.Value, Accepted: input.Accepted}
			}
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
