package engine

import (
	"strconv"

	"github.com/headgate/headgate/engine/algo"
)

// The fields in the text form of a limit, each "" for its default.

func burstText(l *spec) string {
	n := &l.numbers
	byDefault := int64(1)
	if n.Algorithm.BurstIsCount() {
		byDefault = n.Count * l.scale
	}
	if n.Burst == byDefault {
		return ""
	}
	return unitsText("burst", n.Burst)
}

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

func warmUpText(l *spec) string { return spanText("warm_up", l.numbers.WarmUp) }

func weightText(l *spec) string {
	if l.numbers.Weight == 1 {
		return ""
	}
	return unitsText("weight", l.numbers.Weight)
}

func intervalText(l *spec) string {
	if us := l.numbers.StepTime; us != defaultInterval.Microseconds() {
		return spanText("interval", us)
	}
	return ""
}

func failuresText(l *spec) string {
	if n := l.numbers.Failures; n != defaultFailures {
		return unitsText("failures", n)
	}
	return ""
}

func maxPauseText(l *spec) string {
	if us := l.numbers.MaxPause; us != defaultMaxPause.Microseconds() {
		return spanText("max_pause", us)
	}
	return ""
}

func blockText(l *spec) string {
	if n := &l.numbers; n.Block != n.Period {
		return spanText("block", n.Block)
	}
	return ""
}

func maxBlockText(l *spec) string {
	if n := &l.numbers; n.MaxBlock != defaultMaxBlock(n.Block) {
		return spanText("max_block", n.MaxBlock)
	}
	return ""
}

func forgetText(l *spec) string {
	if n := &l.numbers; n.Forget != n.MaxBlock {
		return spanText("forget", n.Forget)
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

// Either segments or segment is written: several windows have no common number of segments.
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

func countDeniedText(l *spec) string { return flagText("count_denied", l.numbers.CountDenied) }

func nextPaysText(l *spec) string { return flagText("next_pays", l.numbers.NextPays) }

func nameText(l *spec) string {
	if l.name == "" {
		return ""
	}
	return "name " + strconv.Quote(l.name)
}

func unitsText(field string, units int64) string { return field + " " + strconv.FormatInt(units, 10) }

func spanText(field string, us int64) string { return field + " " + FormatSpan(micros(us)) }

func flagText(field string, set bool) string {
	if !set {
		return ""
	}
	return field
}
