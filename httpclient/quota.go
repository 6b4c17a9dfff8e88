package httpclient

import (
	"slices"
	"time"
)

// quota is one limit of a scope, as the answers have told it.
type quota struct {
	name string
	// budget is how many requests fit until the reset, if no other client sends any.
	budget int64
	reset  time.Time
	// span is how long the last answer was away from its reset, at least a second.
	span time.Duration
	// size is the quota as the server named it, or the most that remained.
	size int64
	// most is the highest number that remained after a request.
	most int64
	last time.Time // when the last request was sent
	// recent are the last answers, in a ring.
	recent  [overlapping]remained
	answers int
}

// remained is the number that remained after an answer, which was the scope's answer at a
// place.
type remained struct{ place, units int64 }

// overlapping is how many requests at a time are told apart: with more in flight the
// budget is a little lower than it could be.
const overlapping = 64

// slowest is the longest pause between two requests while units remain. A daily quota
// that is nearly spent does not stop a client for hours before it is.
const slowest = time.Second

// wait returns how long the next request must wait: 0 if it fits. While more than half of
// the quota remains, requests go at full speed. Then the rest is spread over the time
// until the reset.
func (q *quota) wait(now time.Time, inFlight int64) time.Duration {
	if !now.Before(q.reset) { // all of the quota is back
		q.budget = max(1, q.most+1-inFlight)
		q.reset = now.Add(q.span)
	}
	switch left := q.reset.Sub(now); {
	case q.budget <= 0:
		return left
	case 2*q.budget > q.size:
		return 0
	default:
		return min(slowest, left/time.Duration(q.budget+1)) - now.Sub(q.last)
	}
}

func (q *quota) sent(now time.Time) {
	q.budget--
	q.last = now
}

// answered notes the advice of the scope's answer at a place. sentAt is the number of
// the scope's answers before the request was sent.
//
// Answers come in another order than the server decided. The last decision is this one's
// or that of an answer since this request was sent, so the least of them remains at least,
// less what is still in flight.
func (q *quota) answered(a *advice, sentAt, place, inFlight int64, now time.Time) {
	reset := now.Add(a.reset)
	if q.answers > 0 && reset.After(q.reset.Add(time.Second)) && a.remaining > q.recent[(q.answers-1)%overlapping].units {
		sentAt = place // a new window: what remained of the old one says nothing
	}
	least := a.remaining
	for i := range q.recent[:min(q.answers, overlapping)] {
		if r := &q.recent[i]; r.place >= sentAt {
			least = min(least, r.units)
		}
	}
	q.recent[q.answers%overlapping] = remained{place: place, units: a.remaining}
	q.answers++
	q.budget, q.reset, q.span = least-inFlight, reset, max(a.reset, time.Second)
	q.most = max(q.most, a.remaining)
	q.size = max(a.quota, q.most)
}

// refused makes no request pass before a time, and then one.
func (q *quota) refused(until, now time.Time) {
	q.budget, q.most, q.reset, q.span = 0, 0, until, max(time.Second, until.Sub(now))
}

// quotas are the limits of a scope, at most maxLimits.
type quotas []quota

func (all quotas) named(name string) *quota {
	if i := slices.IndexFunc(all, func(q quota) bool { return q.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}
