package httpclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Bounds for a scope that has no response yet.
const (
	// unknownInFlight is the number of requests that may be in flight before the first response.
	unknownInFlight = 8
	// unknownWait is the longest time that further requests wait for the first response.
	unknownWait = time.Second
)

// scope is the state shared by the requests to one host.
type scope struct {
	mu sync.Mutex
	// line is the queue of requests waiting to be sent.
	line     line
	limits   quotas
	hold     time.Time // no request is sent before then
	known    bool      // a response has arrived
	inFlight int64
	answers  int64 // number of responses with limits
	retries  float64
}

func newScope() *scope { return &scope{retries: retryBurst} }

// enter waits until a request fits, and counts it as sent. The caller must pass the ticket to the method leave.
func (s *scope) enter(ctx context.Context, longest time.Duration) (ticket int64, err error) {
	start := time.Now()
	s.mu.Lock()
	own := s.line.join()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.line.leave(own)
		s.mu.Unlock()
	}()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for {
		turn := s.try(own, start, longest)
		if turn.sent {
			return turn.ticket, nil
		}
		if err := turn.tooLong(ctx, start.Add(longest)); err != nil {
			return 0, err
		}
		if turn.first {
			timer.Reset(turn.wait)
		}
		select {
		case <-own.woken:
		case <-timer.C:
			if !turn.first {
				return 0, &LimitedError{RetryAfter: s.soonest()}
			}
		case <-ctx.Done():
			return 0, s.ended(ctx)
		}
	}
}

// ended returns the error for a request whose context ended while the request waited.
func (s *scope) ended(ctx context.Context) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &LimitedError{RetryAfter: s.soonest(), cause: context.DeadlineExceeded}
}

// turn is the result of try, which attempts to send a request.
type turn struct {
	sent   bool // the request fits, and is counted
	ticket int64
	first  bool          // no other request is ahead
	wait   time.Duration // the shortest time until it fits
	known  bool          // a response has arrived, so the wait cannot end early with the first response
}

// tooLong returns the error for a request that would have to wait past its deadline or past latest.
func (t *turn) tooLong(ctx context.Context, latest time.Time) error {
	fits := time.Now().Add(t.wait)
	if deadline, ok := ctx.Deadline(); ok && fits.After(deadline) && t.known {
		return &LimitedError{RetryAfter: t.wait, cause: context.DeadlineExceeded}
	}
	if fits.After(latest) {
		return &LimitedError{RetryAfter: t.wait}
	}
	return nil
}

// try counts a request as sent if it is first in the queue and fits.
func (s *scope) try(own *place, start time.Time, longest time.Duration) turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	t := turn{first: s.line.first(own), known: s.known, wait: s.untilFit(now)}
	if !s.known && s.inFlight >= unknownInFlight {
		t.wait = max(t.wait, min(unknownWait, longest)-now.Sub(start))
	}
	if !t.first || t.wait > 0 {
		return t
	}
	for i := range s.limits {
		s.limits[i].sent(now)
	}
	s.inFlight++
	s.retries = min(retryBurst, s.retries+retryShare)
	t.sent, t.ticket = true, s.answers
	return t
}

// untilFit returns the time until the next request fits, as far as the scope knows. The time is 0 or less if the
// request fits now.
func (s *scope) untilFit(now time.Time) time.Duration {
	wait := s.hold.Sub(now)
	for i := range s.limits {
		wait = max(wait, s.limits[i].wait(now, s.inFlight))
	}
	return wait
}

// soonest returns the shortest known time until the next request can fit.
func (s *scope) soonest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.untilFit(time.Now()))
}

// leave records the response to a request. The answer is nil if the request got no response.
func (s *scope) leave(ticket int64, answer *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if answer != nil {
		s.note(ticket, answer, time.Now())
	}
	if answer != nil && denied(answer) {
		s.line.wakeAll() // some waiting requests may have deadlines before the end of the hold
	} else {
		s.line.wake()
	}
}

func (s *scope) note(ticket int64, answer *http.Response, now time.Time) {
	s.known = true
	limits := read(answer.Header, now, denied(answer))
	for i := range limits {
		a := &limits[i]
		q := s.limits.named(a.name)
		if q == nil {
			if len(s.limits) == maxLimits {
				s.limits = s.limits[:0] // the server has renamed its limits
			}
			s.limits = append(s.limits, quota{name: a.name})
			q = &s.limits[len(s.limits)-1]
		}
		q.answered(a, ticket, s.answers, s.inFlight, now)
	}
	if len(limits) > 0 {
		s.answers++
	}
	if denied(answer) {
		s.deny(limits, answer.Header, now)
	}
}

// deny holds all requests after a denial that stated the given limits.
func (s *scope) deny(stated []advice, h http.Header, now time.Time) {
	wait, ok := retryAfter(h, now)
	if !ok {
		wait = untilReset(stated)
	}
	// Another response may have requested a longer wait.
	if until := now.Add(wait); until.After(s.hold) {
		s.hold = until
	}
	for i := range s.limits {
		s.limits[i].denied(s.hold, now)
	}
}

// unknownReset is the wait after a denial that states no wait.
const unknownReset = time.Second

// untilReset returns the time until all limits with nothing left have been reset. If no limit states why a request was
// denied, or until when, it returns unknownReset.
func untilReset(limits []advice) (wait time.Duration) {
	for i := range limits {
		if l := &limits[i]; l.remaining == 0 {
			wait = max(wait, l.reset)
		}
	}
	if wait == 0 {
		return unknownReset
	}
	return wait
}
