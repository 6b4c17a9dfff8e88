package engine

import (
	"strconv"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Shares returns the limits that each of n processes enforces on its own, while no process can reach the store. A
// process charges all of the returned limits or none. A pacer's share is a pacer, and a concurrency limit's share has
// permits of its own. All other shares are buckets. In any span, the processes together admit no more than one bucket
// with the limit's capacity and rate, or one unit each if there are more processes than units.
//
//	token bucket, warm-up      1/n of the rate (a warm-up's full rate) and of the burst
//	window, log                for each window, a bucket with 1/n of its count and its length
//	pacer                      1/n of the rate, queue and burst
//	concurrency                1/n of the permits
//
// Units are rounded down, but no share is below one unit. The share of a penalty, of DenyAll and of NoLimit is the limit
// itself. A calendar window counts with its longest length: 25 h for a day. Debt, NextPays and CountDenied do not apply
// to shares.
//
// The shares of "sliding-log 5/1s 50/1h" for 2 processes are 2/2s burst 2 and 25/2h burst 25.
func Shares(l Limit, n int64) []Limit {
	s := l.of()
	if s.err != nil || !s.counts() {
		return []Limit{l}
	}
	var shares []Limit
	for _, share := range s.numbers.Shares(n) {
		shares = append(shares, s.share(&share))
	}
	return shares
}

// share returns a share as a limit. The name of its bucket distinguishes it from the shares of other limits and
// windows of one key.
func (l *spec) share(s *algo.Share) Limit {
	own := spec{numbers: s.Limit, name: l.name, scale: l.scale * s.Scale}
	switch a := l.numbers.Algorithm.String(); {
	case s.SameAlgorithm:
	case s.Window > 0:
		own.name = a + " " + strconv.FormatInt(s.Window, 10) + " " + l.Name()
	default:
		own.name = a + " " + l.Name() // so that the rate may change while the state lasts
	}
	return own.limit()
}

// MostPermits returns a concurrency limit of the same name with the largest possible number of permits and the
// given lease time. After a share has granted a permit, this limit is used to add the permit to the store for the
// rest of its lease, even above the original limit.
func MostPermits(l Limit, lease time.Duration) Limit {
	own := *l.of()
	if own.numbers.Algorithm.Holds() {
		own.numbers.Count, own.numbers.Period = maxHeld, lease.Microseconds()
	}
	return own.limit()
}

// UpperBound returns a limit of the same name that admits at least as much as l in any state of l, for an auditor that
// does not see the state. ok is false if there is no such limit, or if l has no units to count.
func UpperBound(l Limit) (bound Limit, ok bool) {
	s := l.of()
	numbers, ok := s.numbers.UpperBound()
	if !ok || numbers == s.numbers {
		return l, ok
	}
	own := spec{numbers: numbers, name: s.name, scale: s.scale}
	return own.limit(), true
}

// SharesBound returns the maximum number of units by which n processes can exceed the limit during one fill time that
// includes a share's answer (docs/design/rules.md, section 9). The fill time is the time until an exhausted limit has
// all its units again, or the limit's longest window. With C as the larger of the limit's capacity and n, the bound is
// twice C, with a bucket's debt or queue: once before the shares answer, and once while they answer. A pacer adds one
// unit for each process beyond its burst. For a concurrency limit the bound is C. A longer span can add the same amount
// for each further fill time.
func SharesBound(l Limit, n int64) int64 { return l.Numbers().SharesBound(n) }
