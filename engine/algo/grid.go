package algo

import "time"

// Grid is the numbers of a limit that its units are counted on. Another grid is
// another counter, which starts empty: such numbers are part of what a state is
// called, so that no count is ever converted from one grid to another. Of all
// other limits and numbers the Grid is zero.
type Grid struct {
	// Count and Period are a pacer's rate, divided by their greatest common
	// divisor. Period alone is the length of a fixed window in µs, or that of a
	// sliding window's segments.
	Count  int64
	Period int64
	// Align, Unit and Zone say where a fixed window begins.
	Align Align
	Unit  Unit
	Zone  *time.Location
}

// Grid returns the numbers that the limit's units are counted on.
func (l *Limit) Grid() Grid {
	switch l.Algorithm {
	case Pacer:
		return Grid{Count: l.Count, Period: l.Period}
	case FixedWindow:
		if l.Align == AlignCalendar {
			return Grid{Align: l.Align, Unit: l.Unit, Zone: l.Zone}
		}
		return Grid{Period: l.Period, Align: l.Align}
	case SlidingWindow:
		return Grid{Period: l.Segment}
	default:
		return Grid{}
	}
}
