package topkeys

import (
	"time"

	"github.com/headgate/headgate/server/internal/service"
)

// Observe counts the requests of one call that take units, and how many of them were denied. It omits requests without
// a key, which lack a part of their route's key. It implements [service.Observer].
func (t *Tracker) Observe(o *service.Observed) {
	parts := partsOf(o)
	at := func(i int) part {
		if parts == nil {
			return part{i, whole}
		}
		return parts[i]
	}
	t.count(o.Ended, max(len(o.Requests), len(parts)), requests{
		of: func(i int) (Subject, bool) {
			p := at(i)
			name, key := p.subject(o)
			return Subject{Policy: name, Key: key}, key != "" && name != service.OtherPolicy && o.Requests[p.request].Kind.Takes()
		},
		denied: func(i int) bool {
			p := at(i)
			answer := &o.Responses[p.request]
			return answer.Err == nil && !answer.Allowed && o.Requests[p.request].Kind.Takes() && p.denies(o)
		},
		event: func(i int, counts int64) *Event { return answered(o, at(i), counts) },
	})
	if len(o.Shadows) > 0 {
		t.shadows(o, NewlyDenied)
		t.shadows(o, NewlyAllowed)
	}
}

// shadows counts the requests whose answer a shadow would change.
func (t *Tracker) shadows(o *service.Observed, events Events) {
	changed := func(i int) bool {
		s := &o.Shadows[i]
		return s.Last && s.Compared && s.Live != s.InForce && s.Live == (events == NewlyDenied) && s.Kind.Takes()
	}
	n := 0
	for i := range o.Shadows {
		if changed(i) {
			n++
		}
	}
	if n > 0 {
		t.Add(events, n, o.Ended, func(nth int, _ int64) (Subject, bool) {
			s := &o.Shadows[position(nth, changed)]
			return Subject{Policy: s.Of.Name, Key: o.Key(s.Request)}, true
		})
	}
}

// requests describes the requests of a call by index. The functions return the request's key, whether it was denied,
// and its timeline event.
type requests struct {
	of     func(i int) (Subject, bool)
	denied func(i int) bool
	event  func(i int, counts int64) *Event
}

// count counts n requests of a call, and how many of them were denied. Each request appears only once in a timeline.
func (t *Tracker) count(at time.Time, n int, r requests) {
	t.Add(Requests, n, at, func(i int, counts int64) (Subject, bool) {
		s, ok := r.of(i)
		if ok && !r.denied(i) {
			t.Record(s, r.event(i, counts))
		}
		return s, ok
	})
	denied := 0
	for i := range n {
		if r.denied(i) {
			denied++
		}
	}
	if denied == 0 {
		return
	}
	t.Add(Denials, denied, at, func(nth int, counts int64) (Subject, bool) {
		i := position(nth, r.denied)
		s, ok := r.of(i)
		if ok {
			t.Record(s, r.event(i, counts))
		}
		return s, ok
	})
}

// position returns the index of the nth matching element, counting from 0. That element must exist.
func position(nth int, matches func(i int) bool) int {
	for i := 0; ; i++ {
		if matches(i) {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
}

// answered returns the timeline event for the answer to a request.
func answered(o *service.Observed, p part, counts int64) *Event {
	answer := &o.Responses[p.request]
	e := Event{At: o.Ended, Failed: answer.Err != nil, Cost: answer.Cost, From: o.FrontEnd.String(), Counts: counts}
	if answer.Err != nil {
		return &e
	}
	s := answer.Binds()
	if p.charge != whole {
		s, e.Cost = answer.Of(p.charge), answer.Charge(p.charge).Cost
	}
	e.Allowed, e.Mode, e.Limit, e.Remaining, e.RetryAfter = answer.Allowed, answer.Promise.Mode, s.Limit, s.Remaining, s.RetryAfter
	return &e
}
