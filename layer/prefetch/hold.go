package prefetch

import (
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// hold describes the units of one key that a process holds. Its instants are monotonic and on this process's clock. The
// methods of a nil hold are those of one without units.
type hold struct {
	space, key string
	limit      engine.Limit
	took       int64
	units      atomic.Int64 // that are left of those it took
	returned   int64        // or lost by a reset; the shard's lock guards it
	// dies is the instant from which the units can no longer be spent, and returns is the instant when they are given
	// back.
	dies, returns time.Time
	received      time.Time
	taken         time.Time     // on the store's clock: the handle for a give
	outcome       engine.Answer // the answer to the request that took them, which no longer changes
}

// newHold returns the units that a process holds after a decision that charged one unit for a caller and some units in
// advance. Their life starts when the request was sent, which is before the decision. It ends no later than the window
// that was charged.
func newHold(name *id, limit engine.Limit, d *engine.Answer, sent time.Time, life time.Duration, members int) *hold {
	l := limit.Numbers()
	left := life
	if window := l.WindowLeft(d.AtMicros, d.Binds().ResetAfter.Microseconds()); window < life.Microseconds() {
		left = time.Duration(window) * time.Microsecond
	}
	h := &hold{
		space: name.space, key: name.key, limit: limit, took: d.Granted - 1,
		dies: sent.Add(left), returns: sent.Add(left / 2), received: time.Now(), taken: d.Handle(0), outcome: d.Keep(0),
	}
	h.units.Store(h.took)
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

// of reports whether the hold is that of a key under a limit.
func (h *hold) of(space, key string, limit engine.Limit) bool {
	return h.limit == limit && h.key == key && h.space == space
}

// spend takes units if enough of them are alive. Several callers can spend at once, without the shard's lock: from the
// moment that the units are taken away to be returned, none is there to spend.
func (h *hold) spend(units int64, now time.Time) (left int64, ok bool) {
	if h == nil || !now.Before(h.dies) {
		return 0, false
	}
	for {
		all := h.units.Load()
		if all < units {
			return 0, false
		}
		if h.units.CompareAndSwap(all, all-units) {
			return all - units, true
		}
	}
}

// answer writes the answer to a request that has spent units and left some.
func (h *hold) answer(units, left int64, now time.Time, o *engine.Answer) {
	*o = h.outcome
	age := now.Sub(h.received).Truncate(time.Microsecond)
	o.Granted, o.Binds().Remaining = units, o.Binds().Remaining+left
	o.AtMicros, o.Binds().ResetAfter = o.AtMicros+age.Microseconds(), max(0, o.Binds().ResetAfter-age)
}

// left returns the number of units that can be spent.
func (h *hold) left() int64 {
	if h == nil {
		return 0
	}
	return h.units.Load()
}

// spent returns the number of units that have been spent. The caller holds the shard's lock.
func (h *hold) spent() int64 {
	if h == nil {
		return 0
	}
	return h.took - h.returned - h.units.Load()
}

// end takes the units that are left away, and returns their number. The caller holds the shard's lock.
func (h *hold) end() int64 {
	if h == nil {
		return 0
	}
	left := h.units.Swap(0)
	h.returned += left
	return left
}
