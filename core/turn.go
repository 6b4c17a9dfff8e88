package core

import (
	"time"

	"github.com/headgate/headgate/internal/queue"
)

// turn makes a process whose callers wait for permits leave freed ones to other processes now and then. Its own callers
// hear of a release at once and other processes only when they ask again, so without turns the process that came first
// would keep all permits for as long as callers wait (regression: bug 160).
type turn struct {
	began time.Time     // the first release since the last pause
	last  time.Time     // the last release since then
	gap   time.Duration // the longest time between two of them
	until time.Time     // when the pause ends
	asks  bool          // no caller has asked the store since the pause
	alone uint          // pauses in a row in which no other process took the permit, at most mostAlone
}

const (
	// shortestTurn is how long a process hands permits from caller to caller. Then the next one that is freed is left to
	// other processes for a while: for as long as they may pause between their calls, because the oldest permit has not
	// changed. A turn is at least six times as long, and four times that if there seem to be no others, so that a process
	// by itself loses little.
	shortestTurn  = 2 * time.Second
	shortestYield = 3 * busyPause / 2
	mostAlone     = 2
	// handover is the smallest change of the oldest permit's expiry that shows that permits change hands. A smaller one
	// can be the time of the calls.
	handover = 10 * time.Millisecond
)

// freed records a release, and reports whether callers of this process may take the permit.
func (t *turn) freed(now time.Time) bool {
	if now.Before(t.until) {
		return false
	}
	if t.began.IsZero() {
		t.began, t.last, t.gap = now, now, 0
		return true
	}
	t.gap, t.last = max(t.gap, now.Sub(t.last)), now
	yield := min(max(t.gap, shortestYield), longestPause)
	if now.Sub(t.began) < max(shortestTurn, 6*yield)<<t.alone {
		return true
	}
	t.began, t.until, t.asks = time.Time{}, now.Add(yield), true
	return false
}

// answered records whether a caller got a permit: the first one after a pause gets what no other process took.
func (t *turn) answered(granted bool) {
	switch {
	case !t.asks:
	case granted:
		t.alone = min(t.alone+1, mostAlone)
	default:
		t.alone = 0
	}
	t.asks = false
}

// busyPause returns the longest pause of a caller that has waited for some time, while permits change hands. It halves
// after two turns and after four, so that the process that has waited longest is likely to be the next. It is longer if
// callers of many keys wait.
func (l *lines) busyPause(waited time.Duration) time.Duration {
	most := busyPause >> min(waited/(2*shortestTurn), 2)
	return max(most, time.Duration(l.pausing.Len())*pausePerKey)
}

// released wakes the callers that wait for a permit that this process has released, unless it is left to others.
func (l *lines) released(name lineName) {
	own := true
	if !l.None(name) {
		l.Do(name, func(q *queue.Queue[line, struct{}]) { own = q.State.turn.freed(time.Now()) })
	}
	if own {
		l.pausing.WakeAll(name.subject)
	}
}

// answered records whether the store granted the caller's units.
func (w *waiter) answered(granted bool) {
	w.lines.Do(w.name, func(q *queue.Queue[line, struct{}]) { q.State.turn.answered(granted) })
}

// yields returns how long the caller still leaves permits to other processes.
func (w *waiter) yields() (left time.Duration) {
	w.lines.Do(w.name, func(q *queue.Queue[line, struct{}]) { left = time.Until(q.State.turn.until) })
	return left
}
