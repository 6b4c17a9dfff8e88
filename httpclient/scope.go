package httpclient

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The bounds of a scope that has had no answer yet.
const (
	// unknownInFlight is how many requests may be in flight before the first answer says
	// what fits.
	unknownInFlight = 8
	// unknownWait is how long others wait for that answer at most.
	unknownWait = time.Second
)

// scope is what the requests to one host know together.
type scope struct {
	// turn is held by the one request that may be sent next. Others wait for it in the
	// order in which they came.
	turn chan struct{}
	// changed wakes the holder of the turn: an answer has come.
	changed chan struct{}

	mu       sync.Mutex
	limits   quotas
	hold     time.Time // no request is sent before
	known    bool      // an answer has come
	inFlight int64
	answers  int64 // how many answers told limits
	retries  float64
}

func newScope() *scope {
	return &scope{turn: make(chan struct{}, 1), changed: make(chan struct{}, 1), retries: retryBurst}
}

// enter waits until a request fits, and counts it as sent. ticket is for leave.
func (s *scope) enter(ctx context.Context, longest time.Duration) (ticket int64, err error) {
	start := time.Now()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	if err := s.wait(ctx, timer); err != nil {
		return 0, err
	}
	defer func() { <-s.turn }()
	for {
		wait, ticket := s.try(start, longest)
		if wait <= 0 {
			return ticket, nil
		}
		now := time.Now()
		if deadline, ok := ctx.Deadline(); ok && now.Add(wait).After(deadline) && !s.unknown() {
			return 0, &LimitedError{RetryAfter: wait, cause: context.DeadlineExceeded}
		}
		if now.Add(wait).Sub(start) > longest {
			return 0, &LimitedError{RetryAfter: wait}
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// wait waits for the turn.
func (s *scope) wait(ctx context.Context, timer *time.Timer) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default: // others are before
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return &LimitedError{RetryAfter: s.soonest()}
	}
}

// try counts a request as sent if it fits, and otherwise returns how long it must wait.
func (s *scope) try(start time.Time, longest time.Duration) (wait time.Duration, ticket int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	wait = s.hold.Sub(now)
	if !s.known && s.inFlight >= unknownInFlight {
		wait = max(wait, min(unknownWait, longest)-now.Sub(start))
	}
	for i := range s.limits {
		wait = max(wait, s.limits[i].wait(now, s.inFlight))
	}
	if wait > 0 {
		return wait, 0
	}
	for i := range s.limits {
		s.limits[i].sent(now)
	}
	s.inFlight++
	s.retries = min(retryBurst, s.retries+retryShare)
	return 0, s.answers
}

// unknown reports whether a wait can end early, with the first answer.
func (s *scope) unknown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.known
}

// soonest returns when the next request can fit at the earliest, as far as is known.
func (s *scope) soonest() (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	wait = s.hold.Sub(now)
	for i := range s.limits {
		wait = max(wait, s.limits[i].wait(now, s.inFlight))
	}
	return max(0, wait)
}

// leave notes the answer of a request, nil if it had none.
func (s *scope) leave(ticket int64, answer *http.Response) {
	s.mu.Lock()
	s.inFlight--
	if answer != nil {
		s.note(ticket, answer, time.Now())
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default: // the holder of the turn will look anyway
	}
}

func (s *scope) note(ticket int64, answer *http.Response, now time.Time) {
	s.known = true
	limits := read(answer.Header, now)
	for i := range limits {
		a := &limits[i]
		q := s.limits.named(a.name)
		if q == nil {
			if len(s.limits) == maxLimits {
				s.limits = s.limits[:0] // the server names its limits anew
			}
			s.limits = append(s.limits, quota{name: a.name})
			q = &s.limits[len(s.limits)-1]
		}
		q.answered(a, ticket, s.answers, s.inFlight, now)
	}
	if len(limits) > 0 {
		s.answers++
	}
	if refused(answer) {
		wait, ok := retryAfter(answer.Header, now)
		if !ok {
			wait = time.Second
		}
		s.hold = now.Add(wait)
		for i := range s.limits {
			s.limits[i].refused(s.hold, now)
		}
	}
}
