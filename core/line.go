package core

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// errWaiting returns the error for a caller that arrives when most callers of this process already wait for the key.
func errWaiting(most int) error {
	return fmt.Errorf("%w: %d callers of this process wait for the key", engine.ErrStoreUnavailable, most)
}

// subject identifies a counter: a namespace and a key.
type subject struct{ space, key string }

// lineName identifies a line of waiting callers. Callers with different limits, or with different parameters of the
// same limits, pass at different times, so they form separate lines (regression: bug 62).
type lineName struct {
	subject

	limits unique.Handle[limitList]
}

// limitList holds the limits of a policy as one comparable value.
type limitList struct {
	limits    [engine.MaxCharges]engine.Limit
	firstPays bool
}

// String returns the limits as text.
func (l limitList) String() string {
	var text []string
	for _, limit := range l.limits {
		if limit != (engine.Limit{}) {
			text = append(text, limit.String())
		}
	}
	return strings.Join(text, " and ")
}

func (p *Policy) list() unique.Handle[limitList] {
	list := limitList{firstPays: p.firstPays}
	copy(list.limits[:], p.limits)
	return unique.Make(list)
}

// SameLimits reports whether the policies have the same limits, with the same numbers.
func (p *Policy) SameLimits(other *Policy) bool { return p.listed == other.listed }

// LimitsText returns the policy's limits as text.
func (p *Policy) LimitsText() string { return p.listed.Value().String() }

// line returns the name of the line of callers that wait for a key's units under the policy.
func (p *Policy) line(key string) lineName { return lineName{subject{p.space, key}, p.listed} }

// owned returns the name with its own copy of the key, because the caller may reuse the key's bytes after its call.
func (n lineName) owned() lineName {
	n.key = strings.Clone(n.key)
	return n
}

// lines holds the callers of Wait and Acquire, in one line per name. Only the first caller of each line calls the
// store.
type lines struct {
	queue.Set[lineName, line, struct{}]

	most int // callers of one line
	// pausing holds the callers of Acquire that are first in their lines and pause between calls.
	pausing queue.Set[subject, struct{}, struct{}]
}

// line is the state that the callers of one line share, to save calls that the store would deny.
type line struct {
	// last is the store's last answer, and at is the time when it was received. Only the first caller writes them.
	last engine.Answer
	at   time.Time
	// next holds the earliest instant when the first caller can pass.
	next atomic.Pointer[denial]
	turn turn // of Acquire
}

// denial is an answer and the earliest instant when a request can pass.
type denial struct {
	at     time.Time
	answer engine.Answer
}

// waiter is one caller in a line.
type waiter struct {
	*queue.Waiter[struct{}]

	lines *lines
	name  lineName
	line  *line
}

// join adds the caller to its line, and waits until it is first.
func (l *lines) join(ctx context.Context, name lineName) (*waiter, error) {
	w := &waiter{lines: l, name: name.owned()}
	l.Do(w.name, func(q *queue.Queue[line, struct{}]) {
		if q.Len() < l.most {
			w.Waiter, w.line = q.Add(struct{}{}), &q.State
		}
	})
	if w.Waiter == nil {
		return nil, errWaiting(l.most)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if next := w.line.next.Load(); next != nil && deadline.Before(next.at) {
			w.leave()
			return nil, tooLate(&next.answer, time.Until(next.at))
		}
	}
	select {
	case <-w.Ready():
		return w, nil
	case <-ctx.Done():
		w.leave()
		return nil, ctx.Err()
	}
}

// leave removes the caller from its line. The next caller becomes the first.
func (w *waiter) leave() {
	w.lines.Do(w.name, func(q *queue.Queue[line, struct{}]) { q.Leave(w.Waiter) })
}

// freed returns a channel that receives a signal when this process releases units of a subject, under any limits. The
// caller must call leave to unsubscribe.
func (l *lines) freed(name subject) (released <-chan struct{}, leave func()) {
	var w *queue.Waiter[struct{}]
	l.pausing.Do(name, func(q *queue.Queue[struct{}, struct{}]) { w = q.Add(struct{}{}) })
	select {
	case <-w.Ready(): // ready because it is first in the queue, not because of a release
	default:
	}
	return w.Ready(), func() {
		l.pausing.Do(name, func(q *queue.Queue[struct{}, struct{}]) { q.Leave(w) })
	}
}

// until records that the first caller cannot pass before wait is over.
func (w *waiter) until(wait time.Duration, a *engine.Answer) {
	w.line.next.Store(&denial{at: time.Now().Add(wait), answer: a.Clone()})
}

func (l *line) answered(a *engine.Answer) { l.last, l.at = a.Clone(), time.Now() }

// wait returns the minimum time until a request for n units can pass, according to the last answer. The result is 0 or
// negative if a request may pass now, if the last answer was a denial, if the wait is unknown, or if there are several
// limits. The result saves a new first caller a call that the store would deny.
func (l *line) wait(limits []engine.Limit, n int64) time.Duration {
	d := &l.last
	if len(limits) != 1 || !d.Allowed || d.Binds().Remaining >= n {
		return 0
	}
	wait := limits[0].Numbers().WaitByReset(n, d.Binds().ResetAfter.Microseconds())
	return time.Duration(wait)*time.Microsecond - time.Since(l.at)
}
