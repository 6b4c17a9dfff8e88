package engine

import (
	"strconv"
	"time"
	"unique"

	"github.com/headgate/headgate/engine/algo"
)

// Limit is a rule: an algorithm and its parameters. It is an immutable, comparable value that is safe to share and
// reuse. [Build] and [ParseLimit] create limits. An invalid Limit carries its error ([Limit.Err]), and every operation
// on it returns that error. An operation on the zero Limit returns an error too. Neither an invalid nor the zero Limit
// ever allows a request.
//
// A limit's counter is identified by its algorithm, name and grid. The grid consists of the numbers that determine how
// units are counted: the length and alignment of a fixed window, the length of a sliding window's segments, a pacer's
// rate. Unnamed limits with the same algorithm and grid therefore share a counter for a key, even if their other
// parameters differ: see docs/reference/changing-limits.md. Apart from the counts, a state contains only the data
// needed to carry spent units over when the parameters change. Limits that must count separately need different names
// (the name field).
//
// A Limit is one pointer. Equal limits are interned: they share it.
type Limit struct{ spec *spec }

// spec contains the parameters of a limit.
type spec struct {
	numbers algo.Limit
	name    string
	// scale is the divisor removed from Count and Period. It is 60 for 60/1m: the arithmetic uses 1/1s, but String
	// writes 60/1m.
	scale int64
	// err is the reason why the limit is invalid. It is nil for a valid limit.
	err error
}

var notBuilt = spec{err: invalid("limit", remark("not built"), "a limit such as TokenBucket{Rate: PerSecond(10)}")}

// Err returns nil for a valid limit. For an invalid one it returns an [*InputError] that names the field and the
// accepted values.
func (l Limit) Err() error { return l.of().err }

func (l Limit) of() *spec {
	if l.spec == nil {
		return &notBuilt
	}
	return l.spec
}

// DefaultName is the name of an unnamed limit.
const DefaultName = "default"

// Name returns the limit's name, or [DefaultName].
func (l Limit) Name() string { return l.of().Name() }

// Name returns the limit's name.
func (l *spec) Name() string {
	if l.name == "" {
		return DefaultName
	}
	return l.name
}

// WithPosition names an unnamed limit by its position in a request, "1" for the first. It returns a named limit
// unchanged.
func (l Limit) WithPosition(position int) Limit {
	s := l.of()
	if s.name != "" || s.err != nil || !s.counts() {
		return l
	}
	named := *s
	named.name = strconv.Itoa(position)
	return named.limit()
}

// Algorithm returns the limit's algorithm.
func (l Limit) Algorithm() algo.Algorithm { return l.of().numbers.Algorithm }

// Capacity returns the number of units that an unused limit admits at once. It is the burst of a bucket or pacer, and
// the count of a window, log or concurrency limit. For a limit with several windows, it is the count of the first
// window. For a limit that divides its units among keys, it is the most that one key can use. For a penalty, it is the
// number of ignored denials that starts the first block. For DenyAll and NoLimit, it is 0.
func (l Limit) Capacity() int64 { return l.Numbers().Capacity() }

// Rates returns the limit's rate as written, or the rate of each of its windows in the order given. For DenyAll and
// NoLimit it returns no rates. The rate of a concurrency limit is its units per lease time.
func (l Limit) Rates() []Rate {
	s := l.of()
	n := &s.numbers
	if s.err != nil || !s.counts() {
		return nil
	}
	if n.Algorithm.Holds() {
		return []Rate{Per(n.Count, Micros(n.Period))}
	}
	rates := []Rate{s.rate(0)}
	for i := 1; ; i++ {
		if _, ok := n.Window(i); !ok {
			return rates
		}
		rates = append(rates, s.rate(i))
	}
}

// Rate returns one of the limit's rates, as written. If the limit has several windows, it is the rate of the window
// with the given index, counted from 0. For a concurrency limit, it contains the units without a period. Rate does
// not allocate.
func (l Limit) Rate(window int) Rate { return l.of().rate(window) }

// Earlier returns the difference between [Standing].ResetAfter and the time until all units of one window of a
// sliding log are available again. ResetAfter is the time until the newest entry leaves the longest window. For all
// other limits, Earlier returns 0.
func (l Limit) Earlier(window int) time.Duration {
	n := &l.of().numbers
	if !n.Algorithm.KeepsTimes() {
		return 0
	}
	return Micros(n.Longest()) - l.Rate(window).Period
}

func (l *spec) rate(window int) Rate {
	n := &l.numbers
	switch {
	case n.Several != unique.Handle[algo.Windows]{}:
		w, _ := n.Window(window)
		return Rate{Count: w.Limit, Period: Micros(w.Span)}
	case n.Unit == algo.Month:
		return Rate{Count: n.Count, Months: 1}
	case n.Unit == algo.Year:
		return Rate{Count: n.Count, Months: 12}
	case n.Algorithm.Holds():
		return Rate{Count: n.Count}
	}
	return Rate{Count: n.Count * l.scale, Period: Micros(n.Period * l.scale)}
}

// Numbers returns the limit in the form that stores use. The caller must not change it.
func (l Limit) Numbers() *algo.Limit { return &l.of().numbers }

// Unlimited reports whether the limit allows every request.
func (l Limit) Unlimited() bool { return l.of().numbers.Algorithm.AllowsAll() }

// Punishes reports whether the limit is a penalty, which has no units and denies callers that ignore denials.
func (l Limit) Punishes() bool { return l.of().numbers.Algorithm.Punishes() }

// Counter names the counter of a limit, without the namespace and the key. Limits with the same counter differ at most
// in their parameters, like versions of one limit.
type Counter struct {
	Name      string
	Algorithm algo.Algorithm
	Grid      algo.Grid
}

// Counter returns the limit's counter. The result has no meaning for DenyAll and NoLimit, which have no counter.
func (l Limit) Counter() Counter {
	s := l.of()
	return Counter{Name: l.Name(), Algorithm: s.numbers.Algorithm, Grid: s.numbers.Grid()}
}

// Counts returns the counter's key for requests with the given key. Usually, this is the given key itself. If the
// limit divides its units among keys, all keys of the namespace have the same counter key, and no text in a key can
// select another counter.
func (l Limit) Counts(space, key string) string {
	if l.Algorithm().Divides() {
		return "*" + space
	}
	return key
}

// counts reports whether the limit has a counter.
func (l *spec) counts() bool { return !l.numbers.Algorithm.Constant() }
