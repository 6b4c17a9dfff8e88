package redisstore

import (
	"encoding/binary"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// unitsMax bounds what a script is asked for: no more than 2^52−1 units can be
// stored, spent or queued, and so a larger cost never passes.
const unitsMax = 1 << 52

// encode appends an operation as its script reads it: the kind, and then one
// limit, or how many and each with its family. All numbers are big-endian.
func encode(b []byte, op *engine.Op, now int64, s sequence) []byte {
	b = append(b, byte(op.Kind))
	if s != one {
		b = append(b, byte(len(op.Charges)))
	}
	if s == hold {
		b = append(b, byte(len(op.ID)))
		b = append(b, op.ID...)
	}
	for i := range op.Charges {
		c := &op.Charges[i]
		l := c.Limit.Numbers()
		b = append(b, families[l.Algorithm].code())
		if s != lookup {
			b = encodeCharge(b, l, min(c.Cost, unitsMax), now)
		}
		switch {
		case op.Kind == engine.OpGive:
			b = appendInt(b, 8, op.TakenMicros())
		case op.Kind == engine.OpAtMost && s == one:
			b = appendInt(appendInt(b, 2, op.Share), 2, op.Ahead.Milliseconds())
		}
	}
	return b
}

func encodeCharge(b []byte, l *algo.Limit, cost, now int64) []byte {
	switch l.Algorithm {
	case algo.TokenBucket, algo.Pacer:
		return encodeBucket(b, l, cost)
	case algo.FixedWindow:
		return encodeFixed(b, l, cost, now)
	case algo.SlidingWindow:
		b = encodeCounted(b, l, cost)
		b = appendInt(b, 7, l.Segment)
		b = appendInt(b, 2, l.Longest()/l.Segment)
		b = append(b, byte(l.Variant))
		return encodeWindows(b, l)
	case algo.SlidingLog:
		b = encodeCounted(b, l, cost)
		b = appendInt(b, 7, l.Longest())
		return encodeWindows(b, l)
	case algo.Concurrency:
		b = appendInt(b, 7, cost)
		b = appendInt(b, 4, l.Count)
		return appendInt(b, 7, l.Period)
	default:
		b = append(b, bit(l.Algorithm == algo.DenyAll))
		return appendInt(b, 7, cost)
	}
}

func encodeBucket(b []byte, l *algo.Limit, cost int64) []byte {
	b = append(b, bit(l.Algorithm == algo.Pacer), bit(l.Algorithm == algo.TokenBucket && l.Queue > 0))
	b = appendInt(b, 7, cost)
	b = appendInt(b, 4, l.Count)
	b = appendInt(b, 7, l.Period)
	b = appendInt(b, 4, l.Burst)
	whole, part := l.Depth()
	if whole >= unitsMax {
		whole, part = unitsMax-1, 0
	}
	b = appendInt(b, 7, whole)
	return appendInt(b, 7, part)
}

// encodeFixed sends the window of the calendar that now is in, as far as this
// process knows the store's time, and the end of the one after it.
func encodeFixed(b []byte, l *algo.Limit, cost, now int64) []byte {
	b = append(b, bit(l.CountDenied), byte(l.Align))
	b = appendInt(b, 7, cost)
	b = appendInt(b, 4, l.Count)
	b = appendInt(b, 7, l.Period)
	if l.Align != algo.AlignCalendar {
		return b
	}
	start, end := algo.CalendarWindow(l.Unit, l.Zone, now)
	_, next := algo.CalendarWindow(l.Unit, l.Zone, end)
	return appendInt(appendInt(appendInt(b, 8, start), 8, end), 8, next)
}

func encodeCounted(b []byte, l *algo.Limit, cost int64) []byte {
	return appendInt(append(b, bit(l.CountDenied)), 7, cost)
}

func encodeWindows(b []byte, l *algo.Limit) []byte {
	if first, ok := l.Window(0); ok {
		several := 0
		count := len(b)
		b = append(b, 0)
		for w := first; ok; w, ok = l.Window(several) {
			b = appendInt(appendInt(b, 4, w.Limit), 7, w.Span)
			several++
		}
		b[count] = byte(several)
		return b
	}
	return appendInt(appendInt(append(b, 1), 4, l.Count), 7, l.Period)
}

// appendInt appends the low bytes of an integer, the highest first.
func appendInt(b []byte, size int, v int64) []byte {
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], uint64(v))
	return append(b, word[8-size:]...)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
