package redisstore

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// family is a group of algorithms that share a fragment. Its number precedes each limit in a call's arguments, and a
// script for several families tests for them in this order. The numbers may change, because a script and its arguments
// always come from one build. lua/README.md lists the families. familyMixed is the last.
type family uint8

const (
	familyBucket family = 1 + iota
	familyFixed
	familyWindow
	familyLog
	familyWarmUp
	familyConcurrency
	familyStateless
	familyFair
	familyPenalty
	familyAdaptive
	familyMixed // for a script that supports all families
	familyCount
)

// fragments lists the families. A new algorithm adds its own family here, or joins an existing one.
var fragments = [familyCount]struct {
	// file is the fragment in lua/. shared is a file with code that several families share.
	file, shared string
	algorithms   []algo.Algorithm
	// encode appends the arguments of the fragment. The argument now is the time of the call on this process's clock.
	encode func(b []byte, l *algo.Limit, cost, now int64) []byte
	// stored is the type of the value at the limit's first key.
	stored stored
	// merged is set if merge.lua can decide the family.
	merged *mergedFamily
}{
	familyBucket:      {"bucket", "refill", []algo.Algorithm{algo.TokenBucket, algo.Pacer}, encodeBucket, storedString, &mergedBucket},
	familyFixed:       {"fixed", "", []algo.Algorithm{algo.FixedWindow}, encodeFixed, storedString, &mergedFixed},
	familyWindow:      {"window", "history", []algo.Algorithm{algo.SlidingWindow}, encodeSegments, storedHistory, nil},
	familyLog:         {"log", "history", []algo.Algorithm{algo.SlidingLog}, encodeLog, storedHistory, nil},
	familyWarmUp:      {"warmup", "refill", []algo.Algorithm{algo.WarmUp}, encodeWarmUp, storedString, nil},
	familyConcurrency: {"concurrency", "", []algo.Algorithm{algo.Concurrency, algo.FairConcurrency}, encodePermits, storedHolders, nil},
	familyStateless:   {"stateless", "", []algo.Algorithm{algo.DenyAll, algo.Unlimited}, encodeStateless, storedNothing, nil},
	familyFair:        {"fair", "refill", []algo.Algorithm{algo.FairShare, algo.FairPacer}, encodeFair, storedString, nil},
	familyPenalty:     {"penalty", "", []algo.Algorithm{algo.Penalty}, encodePenalty, storedString, nil},
	familyAdaptive:    {"adaptive", "refill", []algo.Algorithm{algo.AdaptiveRate}, encodeAdaptive, storedString, nil},
	familyMixed:       {file: "mixed"},
}

type stored uint8

const (
	storedNothing stored = iota
	storedString         // a whole state, which one GET returns
	storedHistory        // a list that scripts read in part
	storedHolders        // two keys: the holders of permits, and their units
)

// mergedFamily describes how merge.lua and alone.lua decide a family.
type mergedFamily struct {
	// fields is the set of fields that merge.lua supports. Limits with another field are decided by single.lua.
	fields algo.Fields
	// decides reports whether merge.lua can decide an operation on such a limit.
	decides func(op *engine.Op, l *algo.Limit) bool
	// plain is the set of fields that the parts fast of alone.lua and merge.lua support, and isPlain reports whether
	// they support the values. If isPlain is nil, they support all values.
	plain   algo.Fields
	isPlain func(l *algo.Limit) bool
	// read reads a state after its format byte: see docs/design/keys.md.
	read func(r *reader, l *algo.Limit) algo.State
}

var mergedBucket = mergedFamily{
	fields:  algo.FieldsOf("burst", "debt", "max_wait", "max_queue", "name"),
	decides: mergesBucket,
	plain:   algo.FieldsOf("burst", "max_wait", "max_queue", "name"),
	read:    readBucket,
}

var mergedFixed = mergedFamily{
	fields:  algo.FieldsOf("align", "anchor", "count_denied", "name"),
	decides: mergesFixed,
	plain:   algo.FieldsOf("align", "name"),
	isPlain: func(l *algo.Limit) bool { return l.Align != algo.AlignCalendar },
	read:    readFixed,
}

// decidesPlain reports whether alone.lua, or the part fast in merge.lua, can decide an allow on the limit.
func (m *mergedFamily) decidesPlain(l *algo.Limit) bool {
	return l.Fields.Within(m.plain) && (m.isPlain == nil || m.isPlain(l))
}

// merges reports whether merge.lua can decide the family.
func (f family) merges() bool { return fragments[f].merged != nil }

// families maps every possible algorithm number to its family.
var families [1 << 8]family

// There is no script for an algorithm without a family. If there is such an algorithm, every program that imports the
// package panics.
func init() {
	for f := range fragments {
		for _, a := range fragments[f].algorithms {
			families[a] = family(f)
		}
	}
	for _, a := range algo.Algorithms() {
		if families[a] == 0 {
			panic("redisstore: no fragment for " + a.String())
		}
	}
}

// encodeCharge appends a limit's parameters and a cost in the form that the part "args" of the algorithm's fragment
// reads.
func encodeCharge(b []byte, l *algo.Limit, cost, now int64) []byte {
	return fragments[families[l.Algorithm]].encode(b, l, cost, now)
}

func encodeSegments(b []byte, l *algo.Limit, cost, _ int64) []byte {
	b = encodeCountDenied(b, l, cost)
	b = appendInt(b, 7, l.Segment)
	b = appendInt(b, 2, l.Longest()/l.Segment)
	return encodeWindows(append(b, byte(l.Variant)), l)
}

func encodeLog(b []byte, l *algo.Limit, cost, _ int64) []byte {
	b = encodeCountDenied(b, l, cost)
	return encodeWindows(appendInt(b, 7, l.Longest()), l)
}

// encodePermits appends the arguments except for the request's key, which follows if the limit divides its units among
// keys.
func encodePermits(b []byte, l *algo.Limit, cost, _ int64) []byte {
	return append(appendInt(appendInt(appendInt(b, 7, cost), 4, l.Count), 7, l.Period), byte(l.Weight))
}

func encodeStateless(b []byte, l *algo.Limit, cost, _ int64) []byte {
	return appendInt(append(b, bit(!l.Algorithm.AllowsAll())), 7, cost)
}

func encodeWarmUp(b []byte, l *algo.Limit, cost, _ int64) []byte {
	most := int64(0)
	if l.NextPays {
		most = l.Most()
	}
	b = appendUnits(appendInt(b, 7, cost), l.Count)
	b = appendUnits(appendInt(b, 7, l.Period), l.Burst)
	return appendInt(appendInt(appendInt(b, 7, l.WarmUp), 7, l.Ramp()), 7, most)
}

// encodeFair appends the arguments except for the request's key, which follows. For a nested limit, it adds 128 to the
// weight.
func encodeFair(b []byte, l *algo.Limit, cost, _ int64) []byte {
	b = appendUnits(appendInt(b, 7, cost), l.Count)
	b = appendUnits(appendUnits(appendInt(b, 7, l.Period), l.Burst), l.Queue)
	return append(b, byte(l.Weight)|bit(l.Nested)<<7)
}

func encodePenalty(b []byte, l *algo.Limit, cost, _ int64) []byte {
	b = appendInt(appendInt(appendInt(b, 7, cost), 4, l.Count), 7, l.Period)
	b = appendInt(appendInt(appendInt(b, 7, l.Block), 7, l.MaxBlock), 7, l.Forget)
	return append(b, byte(l.MostStrikes()))
}

// encodeAdaptive appends the arguments except for the report, which follows.
func encodeAdaptive(b []byte, l *algo.Limit, cost, _ int64) []byte {
	b = appendInt(appendInt(appendInt(b, 7, cost), 4, l.Count), 7, l.Period)
	b = appendUnits(appendInt(appendInt(b, 4, l.Min), 4, l.Max), l.Burst)
	return append(appendInt(appendInt(b, 4, l.StepTime), 4, l.MaxPause), byte(l.Failures))
}

// encodeReport appends 1 and a report's numbers, or 0 if there is no report.
func encodeReport(b []byte, r *algo.Report) []byte {
	if r == nil {
		return append(b, 0)
	}
	return appendInt(appendInt(appendInt(append(b, 1), 3, r.Good), 3, r.Bad), 7, r.Pause)
}

func encodeBucket(b []byte, l *algo.Limit, cost, _ int64) []byte {
	debt := bit(l.HasDebt())
	if l.NextPays {
		debt = nextPays
	}
	b = append(b, bit(l.Algorithm.Paces()), debt)
	b = appendUnits(appendInt(b, 7, cost), l.Count)
	b = appendUnits(appendInt(b, 7, l.Period), l.Burst)
	whole, part := l.Depth()
	if whole >= maxUnits {
		whole, part = maxUnits-1, 0
	}
	b = appendInt(appendInt(b, 7, whole), 7, part)
	if l.NextPays {
		b = appendInt(b, 7, l.Most())
	}
	return b
}

// nextPays is the value of the debt flag for a bucket with next_pays.
const nextPays = 2

// encodeFixed appends the limit and, for a window that follows the calendar, the current window and the end of the
// next window, because Lua has no calendar. If the server's time is not in that window, the script answers RECOMPUTE,
// and the operation is encoded again with the time in the reply.
func encodeFixed(b []byte, l *algo.Limit, cost, now int64) []byte {
	b = append(b, bit(l.CountDenied), byte(l.Align))
	b = appendUnits(appendInt(b, 7, cost), l.Count)
	b = appendInt(b, 7, l.Period)
	if l.Align != algo.AlignCalendar {
		return b
	}
	start, end, next := l.NextWindows(now)
	return appendInt(appendInt(appendInt(b, 8, start), 8, end), 8, next)
}

func encodeCountDenied(b []byte, l *algo.Limit, cost int64) []byte {
	return appendInt(append(b, bit(l.CountDenied)), 7, cost)
}

// encodeWindows appends the number of windows of a limit, and each one's count and
// span.
func encodeWindows(b []byte, l *algo.Limit) []byte {
	if first, ok := l.Window(0); ok {
		count, at := 0, len(b)
		b = append(b, 0)
		for w := first; ok; w, ok = l.Window(count) {
			b = appendInt(appendUnits(b, w.Limit), 7, w.Span)
			count++
		}
		b[at] = byte(count)
		return b
	}
	return appendInt(appendUnits(append(b, 1), l.Count), 7, l.Period)
}
