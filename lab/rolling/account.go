package rolling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// account records the units that all versions of one limit have admitted, for comparison with the units that the rules
// allow.
type account struct {
	limits  []engine.Limit
	version int // version for the next request
	admits  []admit
	own     []int64 // time of each version's last charge; 0 if the state has been empty since
	spent   int64   // total units
	kept    int64   // longest window charged since the state was empty
	ends    int64   // when the state becomes empty if there are no more charges
}

// admit is a number of admitted units with the instant when the rules count them. If the clock lags the state, that is
// the state's instant.
type admit struct{ at, units int64 }

func newAccount(limits []engine.Limit) *account {
	return &account{limits: limits, own: make([]int64, len(limits))}
}

func (a *account) cost(r *rand.Rand) int64 {
	return 1 + r.Int64N(1+a.limits[a.version].Numbers().Count/2)
}

// check checks an answer. If the request was admitted, check records its units and compares all admitted units with
// the bounds. If it was denied, check compares the wait with the longest wait that the rules allow.
func (a *account) check(now, cost int64, result *engine.Answer) error {
	if result.Err != nil {
		return result.Err
	}
	behind := int64(0)
	if last := a.last(); last > now {
		if behind = last - now; behind > 60_000_000 {
			a.admits, behind = nil, 0 // far behind: the state counts as of now
			clear(a.own)
		}
	}
	at, d := now+behind, result
	if !d.Allowed {
		return a.waits(cost, behind, d)
	}
	a.charge(at, cost)
	if err := a.spans(at); err != nil {
		return err
	}
	if err := a.ownLimit(at, cost); err != nil {
		return err
	}
	a.own[a.version] = at
	return nil
}

// charge records admitted units, and updates the time when the state becomes empty.
func (a *account) charge(at, cost int64) {
	a.admits, a.spent = append(a.admits, admit{at, cost}), a.spent+cost
	n := a.limits[a.version].Numbers()
	if at >= a.ends {
		a.kept = 0
		clear(a.own)
	}
	a.kept, a.ends = max(a.kept, n.Period), at
	if n.Algorithm == algo.SlidingWindow {
		a.ends += n.Segment - at%n.Segment
	}
	a.ends += a.kept
}

// last returns the state's instant: the instant of the last charge or, for windows, the start of that charge's segment
// or window. The start is earlier than the charge, so the clock lags less.
func (a *account) last() int64 {
	if len(a.admits) == 0 {
		return math.MinInt64
	}
	at := a.admits[len(a.admits)-1].at
	switch n := a.limits[0].Numbers(); {
	case n.Algorithm == algo.SlidingWindow:
		return at - at%n.Segment
	case n.Algorithm == algo.FixedWindow && n.Align == algo.AlignClock:
		return at - at%n.Period
	case n.Algorithm == algo.FixedWindow:
		return at - n.Period // the window's first request came later
	default:
		return at
	}
}

// spans compares the units admitted in every span that ends now with the largest capacity and the fastest refill of any
// version, or with the largest limit and the shortest window.
func (a *account) spans(now int64) error {
	sum, capacity, span := int64(0), int64(0), int64(math.MaxInt64)
	for _, l := range a.limits {
		most, safe := safe(l.Numbers())
		capacity, span = max(capacity, most), min(span, safe)
	}
	for _, p := range slices.Backward(a.admits) {
		sum += p.units
		length, allowed := now-p.at, capacity
		switch n := a.limits[0].Numbers(); {
		case n.Algorithm.Refills():
			allowed += a.refilled(length)
		case n.Algorithm == algo.FixedWindow:
			allowed = 2 * capacity * (1 + length/n.Period)
		default:
			if length >= span {
				return nil
			}
		}
		if sum > allowed {
			return fmt.Errorf("%d units in %d µs, and at most %d are allowed", sum, length, allowed)
		}
	}
	return nil
}

// safe returns a limit's capacity, and the longest span whose admitted units never exceed it (section 5).
func safe(n *algo.Limit) (capacity, span int64) {
	switch {
	case n.Algorithm.Refills():
		return n.Burst + n.Queue, 0
	case n.Algorithm == algo.SlidingWindow && n.Variant != algo.Strict:
		return n.Count, n.Period - n.Segment
	default:
		return n.Count, n.Period
	}
}

// refilled returns how many units the fastest version refills in a span, rounded up.
func (a *account) refilled(us int64) (units int64) {
	for _, l := range a.limits {
		n := l.Numbers()
		units = max(units, n.Refilled(us))
	}
	return units
}

// ownLimit checks that since a version's own last charge, its limit holds for the units of all versions together.
func (a *account) ownLimit(now, cost int64) error {
	n := a.limits[a.version].Numbers()
	if n.Algorithm != algo.SlidingWindow && n.Algorithm != algo.SlidingLog || a.own[a.version] == 0 {
		return nil
	}
	_, span := safe(n)
	sum := int64(0)
	for _, p := range a.admits {
		if p.at > now-span && p.at > a.own[a.version] {
			sum += p.units
		}
	}
	if sum > n.Count {
		return fmt.Errorf("version %d lets %d units of its %d through since its own last charge", a.version, sum, n.Count)
	}
	return nil
}

// waits checks that no caller waits longer than the version requires for the units spent under all versions, plus the
// time until the clock reaches the state's instant again.
func (a *account) waits(cost, behind int64, d *engine.Answer) error {
	if d.Binds().RetryAfter == headgate.Never {
		return nil
	}
	n := a.limits[a.version].Numbers()
	longest := n.Period + behind
	switch {
	case n.Algorithm.Refills():
		price, count := int64(1), n.Count
		if n.Algorithm.Adapts() {
			count = n.Min
		}
		if n.WarmUp > 0 {
			price = 3 // price of a cold unit
		}
		longest = (price*(a.spent+cost)*n.Period+count-1)/count + behind + 1
		if a.refilled(1) > 1 { // several units arrive at the same time
			longest += n.Period
		}
	case n.Algorithm == algo.SlidingWindow:
		longest += n.Segment
	case n.Algorithm == algo.FixedWindow:
		longest = 2 * n.Period
	}
	if d.Binds().RetryAfter.Microseconds() > longest {
		return fmt.Errorf("waits %s, longer than %d µs", d.Binds().RetryAfter, longest)
	}
	return nil
}
