package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// Leave is the part of a limit that a class of requests must leave to the classes before it: units, or a percentage
// of each capacity. The zero value leaves nothing.
type Leave struct {
	Units   int64
	Percent int64
}

const leaveAccepted = "0% to 99% in whole percents, or a number of units"

// ParseLeave parses text such as 10% or 20.
func ParseLeave(text string) (Leave, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || n < 0 || strings.HasPrefix(digits, "+") || !percent && n > algo.MaxUnits || percent && n > 99:
		return Leave{}, invalid("leaves", text, leaveAccepted)
	case percent:
		return Leave{Percent: n}, nil
	default:
		return Leave{Units: n}, nil
	}
}

// String returns l in the form that ParseLeave reads.
func (l Leave) String() string {
	if l.Percent > 0 {
		return strconv.FormatInt(l.Percent, 10) + "%"
	}
	return strconv.FormatInt(l.Units, 10)
}

// Of returns the number of units of a capacity that the class must leave. A percentage is rounded up: 10 % of
// 205 is 21.
func (l Leave) Of(capacity int64) int64 {
	return l.Units + (capacity*l.Percent+99)/100 // below 2^55
}

// LeftBy returns the number of units of the limit that a class leaves, computed from the burst or from the first
// window's count.
func (l Limit) LeftBy(leave Leave) int64 {
	n := l.Numbers()
	if n.Algorithm.Divides() { // its capacity is the maximum for one key
		return leave.Of(smallest(n))
	}
	return leave.Of(l.Capacity())
}

// ForClass returns the limit for a class of requests that leaves units to others: [Leave.Of] lowers each capacity. The
// returned limit is another version of l, so it uses the same counter. A request of the class therefore passes only if
// the units that it must leave remain after it, while requests under l can use all units. The returned limit allows no
// debt. ForClass returns an error for a pacer and for a limit with next_pays, if the class would have no unit, if the
// lowered limits of several windows no longer grow with their lengths, or if a field does not go with the lower number.
// A class of a fair-share limit keeps the 10 units that such a limit needs.
//
// With 100/s burst 200 and 10%, the class is decided under 100/s burst 180: it is denied if fewer than 20 units would
// remain.
func (l Limit) ForClass(leave Leave) (Limit, error) {
	s := l.of()
	switch {
	case s.err != nil || leave == Leave{} || !s.counts() || s.numbers.Algorithm.Punishes():
		return l, s.err
	case s.numbers.NextPays:
		return l, invalid("leaves", remark(leave.String()+" of "+l.String()), "no classes with next_pays, where a request passes whatever it leaves")
	case s.numbers.Algorithm.Paces():
		return l, invalid("leaves", remark(leave.String()+" of "+s.numbers.Algorithm.String()), "no classes on a pacer, whose slots are given out in the order of arrival")
	}
	lowered, needs, has := *s, int64(1), "one"
	if s.numbers.Algorithm.Divides() {
		needs, has = LeastDivided, strconv.Itoa(LeastDivided)
	}
	least, grow := lowered.numbers.Lower(leave.Of)
	switch {
	case least < needs:
		return l, invalid("leaves", remark(leave.String()+" of "+l.String()), "less than "+strconv.FormatInt(smallest(&s.numbers)-needs+1, 10)+" units, so that the class has "+has)
	case !grow:
		return l, invalid("leaves", remark(leave.String()+" of "+l.String()), "so little that each longer window keeps a larger limit")
	}
	// Another field may not go with the lowered number, so the limit is built again, as the text that snapshots keep.
	built, err := ParseLimit(lowered.limit().String())
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "headgate: ")
		return l, invalid("leaves", remark(leave.String()+" of "+l.String()), "so little that the rest is a limit: "+reason)
	}
	return built, nil
}

// Weighing returns the limit for keys of another weight, with the same counter. It returns l if l does not support
// weights or the weight is 0.
func (l Limit) Weighing(weight int64) Limit {
	s := l.of()
	if s.err != nil || weight == 0 || !s.numbers.Algorithm.Has("weight") {
		return l
	}
	weighted := *s
	weighted.numbers.Weight = weight
	return weighted.limit()
}

// smallest returns the smallest capacity of a limit.
func smallest(n *algo.Limit) int64 {
	least := int64(math.MaxInt64)
	all := *n
	all.Lower(func(capacity int64) int64 { least = min(least, capacity); return 0 })
	return least
}
