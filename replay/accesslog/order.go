package accesslog

import (
	"cmp"
	"slices"
)

// maxSecond is how many lines of one file can be spread over one second. The lines of a
// second beyond that are spread apart, from the last instant of those before.
const maxSecond = 1 << 18

// order puts the requests of one file in the order of their time. A server writes a line
// when a response ends, so that lines with the time of the request are not in order.
type order struct {
	reach   int // how many lines ahead an earlier request is looked for
	pending []Request
	reached int64 // requests before this instant have left
	// whole is true if the file has whole seconds alone. The first lines say it.
	whole, judged bool
	late          int64
}

// add puts a request into the order.
func (o *order) add(q *Request) {
	if q.Time < o.reached {
		q.Time = o.reached
		o.late++
	}
	o.pending = append(o.pending, *q)
}

// full reports whether take returns requests although the file has not ended.
func (o *order) full() bool { return len(o.pending) >= 2*o.reach }

// take appends the requests that no later line comes before, in order. At the end of the
// file these are all.
func (o *order) take(out []Request, ended bool) []Request {
	if !o.judged {
		o.judged = true
		o.whole = !slices.ContainsFunc(o.pending, func(q Request) bool { return q.Time%second != 0 })
	}
	sortByTime(o.pending)
	n := len(o.pending)
	if !ended && n > 0 {
		// The second in which the middle lies may still get lines.
		cut := o.pending[n/2].Time / second * second
		n, _ = slices.BinarySearchFunc(o.pending, cut, func(q Request, at int64) int { return cmp.Compare(q.Time, at) })
		if n == 0 { // all are of one second
			if len(o.pending) < maxSecond {
				o.reach = len(o.pending)
				return out
			}
			n = len(o.pending)
		}
	}
	leaving := o.pending[:n]
	if o.whole {
		spread(leaving)
	}
	if n > 0 {
		o.reached = max(o.reached, leaving[n-1].Time)
	}
	out = append(out, leaving...)
	o.pending = append(o.pending[:0], o.pending[n:]...)
	return out
}

// spread spreads the requests of each whole second evenly over it, in their order.
func spread(all []Request) {
	for from := 0; from < len(all); {
		at := all[from].Time
		to := from + 1
		for to < len(all) && all[to].Time/second == at/second {
			to++
		}
		// Requests that came late begin where the others have left.
		left := second - at%second
		for i := from; i < to; i++ {
			all[i].Time = at + int64(i-from)*left/int64(to-from)
		}
		from = to
	}
}

// sortByTime sorts requests by time, and those of one instant by their lines.
func sortByTime(all []Request) {
	byTime := func(a, b Request) int { return cmp.Compare(a.Time, b.Time) }
	if slices.IsSortedFunc(all, byTime) {
		return
	}
	type at struct {
		time  int64
		place int
	}
	places := make([]at, len(all))
	for i := range all {
		places[i] = at{all[i].Time, i}
	}
	slices.SortFunc(places, func(a, b at) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.place, b.place)) })
	sorted := make([]Request, len(all))
	for i, p := range places {
		sorted[i] = all[p.place]
	}
	copy(all, sorted)
}
