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
		k := d.segmentCount(n.Variant)
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

// variant checks the variant and sets it. The default is weighted.
func (d *draft) variant(n *algo.Limit) error {
	if !d.has("variant") {
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

func (d *draft) segmentCount(v algo.Variant) int64 {
	switch {
	case d.has("segments"):
		return d.of("segments").Units
	case v == algo.Strict:
		return 50
	default:
		return 1
	}
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
