package engine

import (
	"math"
	"time"
)

// Promise is what an answer can be relied on for.
type Promise struct {
	// Mode is how the answer was found.
	Mode Mode
	// OvershootMax is the largest number of units by which this answer can
	// have exceeded the limit: 0 when exact, [Unbounded] where nothing bounds
	// it.
	OvershootMax int64
	// Stale is how long ago the store was asked, where the answer repeats an
	// earlier one; 0 elsewhere.
	Stale time.Duration
}

// Unbounded is the OvershootMax of an answer that was given without asking.
const Unbounded int64 = math.MaxInt64

// Mode is how an answer was found.
type Mode uint8

// The modes. Exact: in one atomic step of the store. Fallback: the store was
// away, and the failure mode answered. Split: the limits are on several nodes of
// the store, which were asked one after another; nothing is exceeded, but a
// request that is refused, or whose process dies, can hold its cost on the
// earlier ones until it is given back or their windows end. Cached: a refusal
// that this process was told before is repeated until its time is over; nothing
// is exceeded, but what others give back in between is not seen
// ([Promise].Stale says for how long at most). Leased: from units that this
// process had taken in advance; [Promise].OvershootMax says by how much the
// limit can be exceeded in any span.
const (
	Exact Mode = iota
	Fallback
	Split
	Cached
	Leased
)

// String returns the name used on the wire.
func (m Mode) String() string {
	switch m {
	case Fallback:
		return "fallback"
	case Split:
		return "split"
	case Cached:
		return "cached"
	case Leased:
		return "leased"
	default:
		return "exact"
	}
}
