package engine

import (
	"strconv"

	"github.com/headgate/headgate/engine/algo"
)

// These functions return the text form of the fields that [Field].written cannot derive. Each returns "" for the
// default value.

func debtText(l *spec) string {
	if n := &l.numbers; n.Queue > 0 && !n.NextPays {
		return unitsText("debt", n.Queue)
	}
	return ""
}

func maxWaitText(l *spec) string {
	if n := &l.numbers; n.HasWait {
		return spanText("max_wait", n.MaxWait)
	}
	return ""
}

func maxQueueText(l *spec) string {
	if n := &l.numbers; n.HasQueue {
		return unitsText("max_queue", n.Queue)
	}
	return ""
}

func alignText(l *spec) string {
	switch n := &l.numbers; n.Align {
	case algo.AlignClock:
		return "align clock"
	case algo.AlignCalendar:
		return "align " + n.Zone.String()
	default:
		return ""
	}
}

func anchorText(l *spec) string {
	if l.numbers.Anchor == (algo.Anchor{}) {
		return ""
	}
	return "anchor " + l.numbers.Anchor.String()
}

// Only one of the fields segments and segment is written, because several windows have no common number of segments.
func segmentsText(l *spec) string {
	n := &l.numbers
	if _, several := n.Window(0); several {
		return ""
	}
	return unitsText("segments", n.Period/n.Segment)
}

func segmentText(l *spec) string {
	n := &l.numbers
	if _, several := n.Window(0); !several {
		return ""
	}
	return spanText("segment", n.Segment)
}

func variantText(l *spec) string { return l.numbers.Variant.String() }

func leaseText(l *spec) string { return spanText("lease", l.numbers.Period) }

func nameText(l *spec) string {
	if l.name == "" {
		return ""
	}
	return "name " + strconv.Quote(l.name)
}

func unitsText(field string, units int64) string { return field + " " + strconv.FormatInt(units, 10) }

func spanText(field string, us int64) string { return field + " " + FormatSpan(Micros(us)) }
