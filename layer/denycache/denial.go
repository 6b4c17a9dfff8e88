package denycache

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// refusal is what the store said of one unit, and when.
type refusal struct {
	limit   engine.Limit
	sent    time.Time // the store was asked after it
	heard   time.Time // and had answered before it
	until   time.Time // it is repeated before it
	outcome engine.Outcome

	// Of a token bucket it is known how units come in: one at free at the
	// earliest, and each so long after the one before. As many as can have come
	// in are asked for; who comes besides is refused, until the knowledge is too
	// old. Of those who asked, so many have no answer yet.
	free, old     time.Time
	each          time.Duration
	asked, flying int64
}

// keep returns the refusal that a decision is, for as long as it may be
// repeated: from when it was sent, since it was decided later.
func keep(limit engine.Limit, d *engine.Outcome, sent, heard time.Time, maxStale time.Duration) refusal {
	r := refusal{
		limit: limit, sent: sent, heard: heard, until: sent.Add(min(d.RetryAfter, maxStale)), outcome: *d,
		free: sent.Add(d.RetryAfter), old: sent.Add(maxStale), each: interval(limit.Numbers()),
	}
	r.outcome.Limits = nil
	return r
}

// interval returns the time in which a token bucket gains one unit, where that is
// a whole number of µs; 0 where it is not, and for other limits.
func interval(l *algo.Limit) time.Duration {
	if l.Algorithm != algo.TokenBucket || l.Period%l.Count != 0 {
		return 0
	}
	return time.Duration(l.Period/l.Count) * time.Microsecond
}

// repeats reports whether the refusal still is one at an instant: before its
// time, or where as many have gone to ask as units can have come in.
func (r *refusal) repeats(now time.Time) bool {
	if now.Before(r.until) {
		return true
	}
	if !r.paces(now) {
		return false
	}
	return r.asked >= r.came(now)
}

// came returns how many units can have come in by an instant.
func (r *refusal) came(now time.Time) int64 { return 1 + int64(now.Sub(r.free)/r.each) }

// hear notes the answer to one who went to ask. It reports whether the refusal
// still is what is known: not where the answer is an error or says that there is
// more than can have come in.
func (r *refusal) hear(answer *engine.Result, heard time.Time) bool {
	r.flying = max(0, r.flying-1)
	d := &answer.Outcome
	return answer.Err == nil && (!d.Allowed || d.Remaining <= max(0, r.came(heard)-r.asked))
}

// paces reports whether it is known how many units can have come in.
func (r *refusal) paces(now time.Time) bool {
	return r.each > 0 && now.Before(r.old) && !now.Before(r.free)
}

// at returns the refusal as it is at an instant: waits are shorter by the time
// since it was heard, which is no longer than that since it was decided, so that
// a retry at the wait passes; and longer by what those take who have gone to ask.
func (r *refusal) at(now time.Time) engine.Outcome {
	d := r.outcome
	age := now.Sub(r.heard).Truncate(time.Microsecond)
	taken := time.Duration(r.asked) * r.each
	d.RetryAfter += taken - age
	d.ResetAfter = max(0, d.ResetAfter+taken-age)
	d.AtMicros += age.Microseconds()
	d.Promise = engine.Promise{Mode: engine.Cached, Stale: now.Sub(r.sent)}
	return d
}
