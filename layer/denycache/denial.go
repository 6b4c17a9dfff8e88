package denycache

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// denial contains the store's denial of one unit, or a penalty's block, and the time when it was received.
type denial struct {
	limit    engine.Limit
	sent     time.Time // just before the request left
	received time.Time // just after the answer arrived
	until    time.Time // when it may no longer be repeated
	outcome  engine.Answer

	// For a token bucket, the refill is known: the first token arrives no earlier than at the instant free, and the
	// other tokens follow, one per interval each. The layer forwards one request for each token that may have been
	// refilled, and denies other requests locally until the instant old. The field asked counts the forwarded
	// requests. The field flying counts the forwarded requests without an answer.
	free, old     time.Time
	each          time.Duration
	asked, flying int64
}

// keep returns the denial for a decision, including how long it may be repeated. This time starts when the request was
// sent, which is before the decision.
func keep(limit engine.Limit, d *engine.Answer, sent, received time.Time, maxStale time.Duration) denial {
	r := denial{
		limit: limit, sent: sent, received: received, until: sent.Add(min(d.Binds().RetryAfter, maxStale)), outcome: *d,
		free: sent.Add(d.Binds().RetryAfter), old: sent.Add(maxStale),
	}
	if us, ok := limit.Numbers().Interval(); ok {
		r.each = time.Duration(us) * time.Microsecond
	}
	return r
}

// repeats reports whether the denial still holds at an instant. It holds until its retry-after is over or its age
// reaches Config.MaxStale. After the retry-after, a token bucket's denial that is not too old holds as long as one
// request has been forwarded for each token that may have been refilled.
func (r *denial) repeats(now time.Time) bool {
	if now.Before(r.until) {
		return true
	}
	if !r.paces(now) {
		return false
	}
	return r.asked >= r.refilled(now)
}

// refilled returns the largest number of tokens that can have been refilled by an instant.
func (r *denial) refilled(now time.Time) int64 { return 1 + int64(now.Sub(r.free)/r.each) }

// confirm records the answer to a forwarded request. It reports whether the denial is still valid. The denial becomes
// invalid if the request failed, or if the answer shows more tokens than can have been refilled.
func (r *denial) confirm(answer *engine.Answer, received time.Time) bool {
	r.flying = max(0, r.flying-1)
	return answer.Err == nil && (!answer.Allowed || answer.Binds().Remaining <= max(0, r.refilled(received)-r.asked))
}

// paces reports whether the denial limits forwarded requests to one per refilled token.
func (r *denial) paces(now time.Time) bool {
	return r.each > 0 && now.Before(r.old) && !now.Before(r.free)
}

// at returns the denial's outcome at an instant. Waits are shortened only by the time since the answer arrived,
// although the decision is older, so a retry after the wait passes. Waits are extended by the tokens that forwarded
// requests take.
func (r *denial) at(now time.Time) engine.Answer {
	d := r.outcome
	age := now.Sub(r.received).Truncate(time.Microsecond)
	taken := time.Duration(r.asked) * r.each
	d.Binds().RetryAfter += taken - age
	d.Binds().ResetAfter = max(0, d.Binds().ResetAfter+taken-age)
	d.AtMicros += age.Microseconds()
	d.Promise = engine.Promise{Mode: engine.Cached, Stale: now.Sub(r.sent)}
	return d
}
