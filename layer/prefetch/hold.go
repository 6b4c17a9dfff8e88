package prefetch

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// hold is what a process holds of one key. Instants are this process's own, and
// monotonic.
type hold struct {
	units int64
	// dies is when units may not be spent any more, returns when they go back.
	dies, returns time.Time
	heard         time.Time
	taken         time.Time      // by the store's clock, where a give finds them
	outcome       engine.Outcome // with which they were taken
}

// newHold returns what is held after a decision that took one unit for a caller,
// and others: for a life from when it was sent, since it was decided later; and
// no longer than the window lasts in which they were taken.
func newHold(limit engine.Limit, d engine.Outcome, sent time.Time, life time.Duration, members int) hold {
	l := limit.Numbers()
	left := life
	switch l.Algorithm {
	case algo.FixedWindow:
		left = min(left, d.ResetAfter)
	case algo.SlidingWindow:
		left = min(left, time.Duration(l.Segment-d.AtMicros%l.Segment)*time.Microsecond)
	}
	h := hold{units: d.Granted - 1, dies: sent.Add(left), returns: sent.Add(left / 2), heard: time.Now(), outcome: d}
	h.taken = d.Taken(0)
	h.outcome.Limits = nil
	h.outcome.Promise = engine.Promise{Mode: engine.Leased, OvershootMax: overshoot(l, life, int64(members))}
	return h
}

// overshoot is by how much a limit can be exceeded: a window not at all; a token
// bucket in any span by what it refills in a life, or by what all hold.
func overshoot(l *algo.Limit, life time.Duration, members int64) int64 {
	if l.Algorithm != algo.TokenBucket {
		return 0
	}
	return min(refills(l, life), members*(l.Burst/(2*members)))
}

// refills is how many units a token bucket refills in a life, rounded up. A life is
// 10^7 µs at most, a count below 2^32: this fits.
func refills(l *algo.Limit, life time.Duration) int64 {
	return (life.Microseconds()*l.Count + l.Period - 1) / l.Period
}

// spend takes units, if there are so many that live.
func (h *hold) spend(units int64, now time.Time) (engine.Outcome, bool) {
	if h.units < units || !now.Before(h.dies) {
		return engine.Outcome{}, false
	}
	h.units -= units
	d := h.outcome
	age := now.Sub(h.heard).Truncate(time.Microsecond)
	d.Granted, d.Remaining = units, d.Remaining+h.units
	d.AtMicros, d.ResetAfter = d.AtMicros+age.Microseconds(), max(0, d.ResetAfter-age)
	return d, true
}
