package prefetch

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Accepted says which limits can be prefetched.
const Accepted = "token buckets without debt, windows and logs that do not count their denials"

// Leasable reports whether a limit's units can be prefetched. A pacer's cannot, because
// they have an order. Nor can those of a limit with debt or with counted denials, because
// only a request at the store makes these.
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

// Leases returns a function that reports whether a store with this Config may spend held
// units on an operation: an allow of one unit or more on one limit that the Config names.
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

// spaces is the name spaces in which a limit is prefetched; nil means all.
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
