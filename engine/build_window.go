package engine

import (
	"time"

	"github.com/headgate/headgate/engine/algo"
)

func (d *draft) slidingWindow(l *spec) error {
	n := &l.numbers
	if err := d.severalWindows(l); err != nil {
		return err
	}
	if err := d.variant(n); err != nil {
		return err
	}
	segment := d.of("segment").Span
	switch {
	case d.has("segment") && d.has("segments"):
		return invalid("segment", segment, "either segment or segments, not both")
	case d.has("segment"):
		if segment < time.Microsecond || segment%time.Microsecond != 0 {
			return invalid("segment", segment, "1µs or more, in whole microseconds")
		}
		n.Segment = segment.Microseconds()
	case len(d.rates) > 1:
		return invalid("segment", remark("not set"), "a length that divides every window, such as 100ms")
	default:
		k := d.segmentCount(n)
		if k < 1 || k > maxSegments || n.Period%k != 0 {
			return invalid("segments", k, "1 to 1000, dividing the window in whole microseconds")
		}
		n.Segment = n.Period / k
	}
	for _, w := range n.Windows() {
		if w.Span%n.Segment != 0 || w.Span/n.Segment > maxSegments {
			return invalid("segment", Micros(n.Segment), "a length that goes 1 to 1000 times into "+FormatSpan(Micros(w.Span)))
		}
	}
	return nil
}

// variant checks the variant and sets it. The default is strict.
func (d *draft) variant(n *algo.Limit) error {
	if !d.has("variant") {
		n.Variant = algo.Strict
		return nil
	}
	word := d.of("variant").Word
	for v := algo.Weighted; v <= algo.Lenient; v++ {
		if v.String() == word {
			n.Variant = v
			return nil
		}
	}
	return invalid("variant", word, fieldNamed("variant").Accepted)
}

// mostByDefault is the largest number of segments of a strict window that names none.
const mostByDefault = 50

// segmentCount returns the number of segments. A strict window admits its count in each period plus one segment, so by
// default it has many segments: the largest number that divides the period.
func (d *draft) segmentCount(n *algo.Limit) int64 {
	switch {
	case d.has("segments"):
		return d.of("segments").Units
	case n.Variant != algo.Strict:
		return 1
	}
	k := int64(mostByDefault)
	for n.Period%k != 0 {
		k--
	}
	return k
}

func (d *draft) slidingLog(l *spec) error {
	if err := d.severalWindows(l); err != nil {
		return err
	}
	for _, r := range d.rates {
		if r.Count > maxLogUnits {
			return invalid("limit", r.Count, "1 to 100000 on a sliding-log; beyond that use sliding-window strict")
		}
	}
	return nil
}
