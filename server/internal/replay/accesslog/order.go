package accesslog

import (
	"cmp"
	"slices"
)

// maxSecond is the maximum number of lines of one file that can be spread over one second. If a second has more lines,
// the others are spread separately, starting at the time of the last spread line.
const maxSecond = 1 << 18

// order sorts one file's requests by time. A server logs a request when its response ends, so lines that contain the
// start time are out of order.
type order struct {
	reach   int // number of lines to read ahead for earlier requests
	pending []Request
	reached int64 // all requests before this time were returned
	// whole is true if the file's times are in whole seconds, judging by its first lines.
	whole, judged bool
	late          int64
}

// add adds a request. If it is older than requests that take has returned, it counts as late and gets the time up to
// which requests were returned.
func (o *order) add(q *Request) {
	if q.Time < o.reached {
		q.Time = o.reached
		o.late++
	}
	o.pending = append(o.pending, *q)
}

// full reports whether take can return requests although the file has not ended.
func (o *order) full() bool { return len(o.pending) >= 2*o.reach }

// take appends, in order of time, the requests that no later line can precede. At the end of the file it appends all.
func (o *order) take(out []Request, ended bool) []Request {
	if !o.judged {
		o.judged = true
		o.whole = !slices.ContainsFunc(o.pending, func(q Request) bool { return q.Time%second != 0 })
	}
	slices.SortStableFunc(o.pending, func(a, b Request) int { return cmp.Compare(a.Time, b.Time) })
	n := len(o.pending)
	if !ended && n > 0 {
		// Later lines may belong to the same second as the cut.
		cut := o.pending[n/2].Time / second * second
		n, _ = slices.BinarySearchFunc(o.pending, cut, func(q Request, at int64) int { return cmp.Compare(q.Time, at) })
		if n == 0 { // all are in the same second
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

// spread distributes the requests within each whole second evenly over that second, in their order.
func spread(all []Request) {
	for from := 0; from < len(all); {
		at := all[from].Time
		to := from + 1
		for to < len(all) && all[to].Time/second == at/second {
			to++
		}
		// Late requests have the time of the last request that was returned. They are spread over the rest of that
		// second.
		left := second - at%second
		for i := from; i < to; i++ {
			all[i].Time = at + int64(i-from)*left/int64(to-from)
		}
		from = to
	}
}
