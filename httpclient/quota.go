package httpclient

import (
	"slices"
	"time"
)

// quota is the state of one limit of a scope, according to the server's responses.
type quota struct {
	name string
	// budget is the number of requests that the server still accepts before the reset, if no other client sends any.
	budget int64
	reset  time.Time
	// span is the time from the last response to the reset stated in that response, but at least one second.
	span time.Duration
	// size is the larger of the quota announced in the last response (0 if it announced none) and most.
	size int64
	// most is the highest remaining number in any response since the last denial.
	most int64
	last time.Time // when the last request was sent
	// recent is a ring buffer of the last responses.
	recent  [overlapping]remained
	answers int
}

// remained is the remaining number in a response. place is the response's sequence number in the scope.
type remained struct{ place, units int64 }

// overlapping is the number of responses kept to account for concurrent requests. If more requests are in flight, the
// budget is slightly lower than necessary.
const overlapping = 64

// slowest is the longest pause between two requests while units remain. It prevents a nearly spent daily quota from
// stopping the client for hours.
const slowest = time.Second

// wait returns the time until the next request can be sent, or 0 if it can be sent now. While more than half of the
// quota remains, requests are not delayed. When less remains, they are spread over the time until the reset.
func (q *quota) wait(now time.Time, inFlight int64) time.Duration {
	if !now.Before(q.reset) { // all of the quota is available again
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

// answered updates the quota with the advice from one response. The argument place is the sequence number of the
// response in the scope, and sentAt is the number of responses that the scope had received when the request was sent.
//
// Responses may arrive in a different order than the server's decisions. The server's last decision is in this
// response or in a response received since the request was sent. Therefore the number of remaining units is at least
// the lowest number in these responses, minus the requests still in flight.
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

// denied blocks requests until the given time, when one request may pass.
func (q *quota) denied(until, now time.Time) {
	q.budget, q.most, q.reset, q.span = 0, 0, until, max(time.Second, until.Sub(now))
}

// quotas holds the limits of a scope, at most maxLimits.
type quotas []quota

func (all quotas) named(name string) *quota {
	if i := slices.IndexFunc(all, func(q quota) bool { return q.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}
