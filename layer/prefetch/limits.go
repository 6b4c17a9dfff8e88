package prefetch

import (
	"unique"

	"github.com/headgate/headgate/engine"
)

// Accepted describes the limits that can be prefetched.
const Accepted = "token buckets without debt and next_pays, windows and logs that do not count their denials"

// Prefetchable reports whether a limit's units can be prefetched.
func Prefetchable(limit engine.Limit) bool { return limit.Numbers().Prefetchable() }

// spends reports whether an operation can spend held units, if its limit is prefetched: an allow of at least one unit on
// one limit. Operations that can be settled are excluded, because prefetched units were charged earlier.
func spends(op *engine.Op) bool {
	return op.Kind == engine.OpAllow && !op.Hints.Settled && len(op.Charges) == 1 && op.Charges[0].Cost >= 1
}

// leased contains the prefetched limits. It is immutable.
type leased map[engine.Limit]leasedLimit

type leasedLimit struct {
	counter unique.Handle[engine.Counter]
	spaces  map[string]bool // the namespaces where it is prefetched; nil means everywhere
}

func newLeased(limits []engine.Limit, spaces map[string][]engine.Limit) leased {
	all := leased{}
	for space, limits := range spaces {
		for _, l := range limits {
			if all[l].spaces == nil {
				all[l] = leasedLimit{counter: counterOf(l), spaces: map[string]bool{}}
			}
			all[l].spaces[space] = true
		}
	}
	for _, l := range limits {
		all[l] = leasedLimit{counter: counterOf(l)}
	}
	return all
}

// counter returns the counter of a limit. ok is false if the limit is not prefetched in the namespace.
func (l leased) counter(limit engine.Limit, space string) (c unique.Handle[engine.Counter], ok bool) {
	in, named := l[limit]
	return in.counter, named && (in.spaces == nil || in.spaces[space])
}

// both returns the intersection of l and other: the limits that both contain, in the namespaces that both contain.
func (l leased) both(other leased) leased {
	common := leased{}
	for limit, in := range l {
		also, named := other[limit]
		switch {
		case !named:
		case in.spaces == nil:
			common[limit] = also
		case also.spaces == nil:
			common[limit] = in
		default:
			shared := map[string]bool{}
			for space := range in.spaces {
				if also.spaces[space] {
					shared[space] = true
				}
			}
			common[limit] = leasedLimit{counter: in.counter, spaces: shared}
		}
	}
	return common
}

func counterOf(limit engine.Limit) unique.Handle[engine.Counter] { return unique.Make(limit.Counter()) }
