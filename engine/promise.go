package engine

import (
	"math"
	"strconv"
)

// Promise describes how an answer was determined and how exact it is.
type Promise struct {
	// Mode states how the answer was determined.
	Mode Mode
	// OvershootMax bounds how far this answer can exceed the limit, in units: 0 when exact, [Unbounded] if there is no
	// bound.
	OvershootMax int64
}

// String describes the promise: "exact", "leased, at most 5 units over", "fallback, without a bound".
func (p Promise) String() string {
	text := p.Mode.String()
	switch {
	case p.OvershootMax == Unbounded:
		text += ", without a bound"
	case p.OvershootMax > 0:
		text += ", at most " + strconv.FormatInt(p.OvershootMax, 10) + " units over"
	}
	return text
}

// Unbounded is the OvershootMax of an answer without a bound.
const Unbounded int64 = math.MaxInt64

// Mode states how an answer was determined.
type Mode uint8

// The modes.
//
// Exact: one atomic step of the store decided.
//
// Fallback: the store could not answer, so the failure mode decided.
//
// Split: the limits are on several nodes of the store, which decided one after another.
// No limit is exceeded. But if the request is denied, or its process dies, its cost can
// stay charged to the earlier nodes until it is given back or their windows end.
//
// Leased: the request spent units that this process had prefetched. Any span can exceed the limit by at most
// [Promise].OvershootMax.
const (
	Exact Mode = iota
	Fallback
	Split
	Leased
)

// String returns the name used on the wire.
func (m Mode) String() string {
	switch m {
	case Fallback:
		return "fallback"
	case Split:
		return "split"
	case Leased:
		return "leased"
	default:
		return "exact"
	}
}
