package httpclient

import (
	"slices"
	"time"
)

// quota is one limit of a scope as reported by its answers.
type quota struct {
	name string
	// budget is the number of requests that fit until the reset, if no other client sends any.
	budget int64
	reset  time.Time
	// span is the time between the last answer and its reset, at least a second.
	span time.Duration
	// size is the server's quota or, if unknown, the highest number remaining so far.
	size int64
	// most is the highest number remaining after a request.
	most int64
	last time.Time // when the last request was sent
	// recent are the last answers, as a ring buffer.
	recent  [overlapping]remained
	answers int
}

// remained is the number remaining after an answer. place is the answer's number in the scope.
type remained struct{ place, units int64 }

// overlapping is the number of answers kept for concurrent requests. With more in flight the budget is a little lower
// than necessary.
const overlapping = 64

// slowest is the longest pause between two requests while units remain, so that a nearly spent daily quota does not
// stop a client for hours.
const slowest = time.Second

// wait returns how long the next request must wait, or 0 if it fits. While more than half of the quota remains,
// requests are not delayed. Below that, they are spread over the time until the reset.
func (q *quota) wait(now time.Time, inFlight int64) time.Duration {
	if !now.Before(q.reset) { // the quota is full again
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

// answered records the advice from the scope's answer number place. sentAt is the number of the scope's answers
// before the request was sent.
//
// Answers may arrive in a different order than the server decided them. The server's last decision is this answer or
// one received since the request was sent, so at least the lowest of their numbers remains, less the requests still in
// flight.
func (q *quota) answered(a *advice, sentAt, place, inFlight int64, now time.Time) {
	reset := now.Add(a.reset)
	if q.answers > 0 && reset.After(q.reset.Add(time.Second)) && a.remaining > q.recent[(q.answers-1)%overlapping].units {
		sentAt = place // a new window: earlier numbers belong to the old one
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

// denied blocks requests until the given time, and then lets one pass.
func (q *quota) denied(until, now time.Time) {
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
