package prefetch

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Accepted says which limits can be leased.
const Accepted = "token buckets without debt, windows and logs that do not count their denials"

// Leasable reports whether a limit's units can be taken in advance: not a
// pacer's, which have an order; nor where denials or debts count, since those are
// made by asking.
func Leasable(limit engine.Limit) bool {
	switch l := limit.Numbers(); l.Algorithm {
	case algo.TokenBucket:
		return l.Queue == 0
	case algo.FixedWindow, algo.SlidingWindow, algo.SlidingLog:
		return !l.CountDenied
	default:
		return false
	}
}

// Leases returns what reports whether an operation may be spent from what is
// held, in a store that is set up so: a take of one limit that is named.
func (c *Config) Leases() func(*engine.Op) bool {
	leased := c.leased()
	return func(op *engine.Op) bool {
		if op.Kind != engine.OpAllow || len(op.Charges) != 1 || op.Charges[0].Cost < 1 {
			return false
		}
		in, named := leased[op.Charges[0].Limit]
		if !named || in == nil {
			return named
		}
		space, _ := op.Subject(0)
		return in[space]
	}
}

// spaces are where a limit is leased; nil is everywhere.
type spaces map[string]bool

func (c *Config) leased() map[engine.Limit]spaces {
	leased := map[engine.Limit]spaces{}
	for space, limits := range c.Spaces {
		for _, l := range limits {
			if leased[l] == nil {
				leased[l] = spaces{}
			}
			leased[l][space] = true
		}
	}
	for _, l := range c.Limits {
		leased[l] = nil
	}
	return leased
}
