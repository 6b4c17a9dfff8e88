package prefetch

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// hold describes the units of one key that a process holds. Its instants are monotonic and on this process's clock.
type hold struct {
	units int64
	// dies is the instant from which the units can no longer be spent, and returns is the instant when they are given
	// back.
	dies, returns time.Time
	received      time.Time
	taken         time.Time      // on the store's clock: the handle for a give
	outcome       *engine.Answer // the answer to the request that took them, which no longer changes
}

// newHold returns the units that a process holds after a decision that charged one unit for a caller and some units in
// advance. Their life starts when the request was sent, which is before the decision. It ends no later than the window
// that was charged.
func newHold(limit engine.Limit, d engine.Answer, sent time.Time, life time.Duration, members int) hold {
	l := limit.Numbers()
	left := life
	if window := l.WindowLeft(d.AtMicros, d.Binds().ResetAfter.Microseconds()); window < life.Microseconds() {
		left = time.Duration(window) * time.Microsecond
	}
	h := hold{units: d.Granted - 1, dies: sent.Add(left), returns: sent.Add(left / 2), received: time.Now(), taken: d.Handle(0)}
	kept := d.Keep(0)
	h.outcome = &kept
	h.outcome.Promise = engine.Promise{Mode: engine.Leased, OvershootMax: overshoot(l, life, int64(members))}
	return h
}

// overshoot returns the largest possible excess over a limit, in units. It is 0 for a window. For a token bucket, the
// excess in any span is at most the units that refill within life or the units that all processes hold, whichever is
// less.
func overshoot(l *algo.Limit, life time.Duration, members int64) int64 {
	if !l.Algorithm.Refills() {
		return 0
	}
	return min(l.Refilled(life.Microseconds()), members*(l.Burst/(2*members)))
}

// spent is what answers a request that has spent held units.
type spent struct {
	outcome  *engine.Answer // of the hold; nil if it has spent none
	received time.Time
	left     int64 // in the hold
}

// spend takes units if enough of them are alive.
func (h *hold) spend(units int64, now time.Time) spent {
	if h.units < units || !now.Before(h.dies) {
		return spent{}
	}
	h.units -= units
	return spent{outcome: h.outcome, received: h.received, left: h.units}
}

// answer writes the answer to a request that has spent units.
func (s *spent) answer(units int64, now time.Time, o *engine.Answer) {
	*o = *s.outcome
	age := now.Sub(s.received).Truncate(time.Microsecond)
	o.Granted, o.Binds().Remaining = units, o.Binds().Remaining+s.left
	o.AtMicros, o.Binds().ResetAfter = o.AtMicros+age.Microseconds(), max(0, o.Binds().ResetAfter-age)
}
