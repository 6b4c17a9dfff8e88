package redisstore

import (
	"strconv"

	"github.com/headgate/headgate/engine/algo"
)

// appendGrid appends the numbers of a limit that are part of its counter's name:
// another grid is another counter.
//
//	fixed-window:60s                     from the first request
//	fixed-window:60s:clock
//	fixed-window:day:Asia%2FShanghai
//	sliding-window:1200ms                a segment's length
//	pacer:1:100ms                        units and period in lowest terms
func appendGrid(b []byte, g *algo.Grid) []byte {
	switch {
	case g.Align == algo.AlignCalendar:
		b = append(append(b, ':'), unitNames[g.Unit]...)
		return appendEscaped(append(b, ':'), g.Zone.String(), fieldEscapes)
	case g.Period == 0:
		return b
	case g.Count > 0:
		b = strconv.AppendInt(append(b, ':'), g.Count, 10)
	}
	b = appendSpan(append(b, ':'), g.Period)
	if g.Align == algo.AlignClock {
		b = append(b, ":clock"...)
	}
	return b
}

var unitNames = [...]string{
	algo.Minute: "minute", algo.Hour: "hour", algo.Day: "day", algo.Week: "week", algo.Month: "month", algo.Year: "year",
}

// appendSpan appends a span in the largest unit of s, ms and us in which it is a
// whole number.
func appendSpan(b []byte, us int64) []byte {
	switch {
	case us%1_000_000 == 0:
		return append(strconv.AppendInt(b, us/1_000_000, 10), 's')
	case us%1_000 == 0:
		return append(strconv.AppendInt(b, us/1_000, 10), "ms"...)
	default:
		return append(strconv.AppendInt(b, us, 10), "us"...)
	}
}
