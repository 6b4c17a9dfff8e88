package headgate

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// maxWaiting is how many callers of one process may wait for one key.
var maxWaiting = 100_000

// errWaiting is the error of a caller that finds maxWaiting others.
func errWaiting() error {
	return fmt.Errorf("%w: %d callers of this process wait for the key", ErrStoreUnavailable, maxWaiting)
}

// lines are the callers of Wait that wait for a key. A line ends with its last caller.
type lines struct {
	count  atomic.Int64
	mu     sync.Mutex
	byName map[lineName]*line
}

type lineName struct{ space, key string }

// line is the callers that wait for one key, in the order in which they came. The first
// alone asks the store.
type line struct {
	name    lineName
	waiting []*waiter
	// last is the last answer of the store, at an instant. The first caller writes it.
	last Decision
	at   time.Time
	// next is when the first caller can pass at the earliest.
	next atomic.Pointer[chance]
	// freed has an element after this process has released units of the key.
	freed chan struct{}
}

// chance is an instant before which nothing passes, as a decision had it.
type chance struct {
	at       time.Time
	decision Decision
}

// waiter is one caller.
type waiter struct {
	lines *lines
	line  *line
	turn  chan struct{} // closed when it is the first
}

// none reports whether no caller waits for a key.
func (l *lines) none(name lineName) bool {
	if l.count.Load() == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byName[name] == nil
}

// join waits until the caller is the first of its line.
func (l *lines) join(ctx context.Context, name lineName) (*waiter, error) {
	w := &waiter{lines: l, turn: make(chan struct{})}
	l.mu.Lock()
	if w.line = l.byName[name]; w.line == nil {
		name.key = strings.Clone(name.key) // the caller's memory ends with its call
		w.line = &line{name: name, freed: make(chan struct{}, 1)}
		if l.byName == nil {
			l.byName = map[lineName]*line{}
		}
		l.byName[name] = w.line
		l.count.Add(1)
		close(w.turn)
	}
	if len(w.line.waiting) == maxWaiting {
		l.mu.Unlock()
		return nil, errWaiting()
	}
	w.line.waiting = append(w.line.waiting, w)
	l.mu.Unlock()
	if deadline, ok := ctx.Deadline(); ok {
		if next := w.line.next.Load(); next != nil && deadline.Before(next.at) {
			w.leave()
			return nil, tooLate(&next.decision, time.Until(next.at))
		}
	}
	select {
	case <-w.turn:
		return w, nil
	case <-ctx.Done():
		w.leave()
		return nil, ctx.Err()
	}
}

// leave takes the caller out of its line. The next one is then the first.
func (w *waiter) leave() {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	at := slices.Index(w.line.waiting, w)
	w.line.waiting = slices.Delete(w.line.waiting, at, at+1)
	switch {
	case len(w.line.waiting) == 0:
		delete(w.lines.byName, w.line.name)
		w.lines.count.Add(-1)
	case at == 0:
		close(w.line.waiting[0].turn)
	}
}

// until says when the first caller can pass.
func (w *waiter) until(wait time.Duration, d *Decision) {
	w.line.next.Store(&chance{at: time.Now().Add(wait), decision: *d})
}

// free tells the first caller of a line that units were released.
func (l *lines) free(name lineName) {
	if l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := l.byName[name]; line != nil {
		select {
		case line.freed <- struct{}{}:
		default:
		}
	}
}

func (l *line) answered(d *Decision) { l.last, l.at = *d, time.Now() }

// wait returns how long no request for n units can pass after the last answer, if that
// says so: of one pacer or fixed window alone. So a caller that becomes the first
// does not ask the store in vain.
func (l *line) wait(limits []Limit, n int64) time.Duration {
	d := &l.last
	if len(limits) != 1 || !d.Allowed || d.Remaining >= n {
		return 0
	}
	wait := time.Duration(0)
	switch numbers := limits[0].Numbers(); numbers.Algorithm {
	case algo.FixedWindow:
		wait = d.ResetAfter
	case algo.Pacer:
		// n units pass once no more than the depth less n units is spent.
		whole, part := numbers.Depth()
		if high, low := bits.Mul64(uint64(max(0, whole-n)), uint64(numbers.Period)); high == 0 && low < 1<<62 && n <= whole {
			wait = d.ResetAfter - time.Duration((int64(low)+part)/numbers.Count)*time.Microsecond
		}
	}
	return wait - time.Since(l.at)
}
