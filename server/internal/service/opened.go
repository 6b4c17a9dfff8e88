package service

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/users"
)

// opened counts the reservations that each user has made or renewed through this server, so that no user can leave the
// others without room. Those with a term count until they end: one user can take a quarter of the room of the store. Those
// without a term count as long as they can be settled, because the store keeps a mark of each that was: one user can take
// a quarter of the room for marks. A reservation counts once for each started 256 bytes of its text, as in memory.
type opened struct {
	most, mostMarked int
	mu               sync.Mutex
	of               map[string]*openedBy // by the user's name
}

// mostMarks is the room for marks of settled reservations in a store that does not bound its keys: about 800 MB of Redis.
const mostMarks = 4_000_000

// newOpened divides the room of a store for keys. 0 means that the store does not bound its keys.
func newOpened(keys int64) opened {
	quarter := func(n int64) int { return int((n + 3) / 4) }
	keys = cmp.Or(keys, math.MaxInt64)
	return opened{most: quarter(min(keys, engine.MaxOpen)), mostMarked: quarter(min(keys, mostMarks)), of: map[string]*openedBy{}}
}

// openedBy is what one user has made. For renewed reservations, renewed has the instant of the end by their ids.
type openedBy struct {
	open, marked ledger
	renewed      map[string]int64
	forgetAt     int // the number of renewed reservations at which those that have ended are forgotten
}

// ledger counts reservations: in all, and by the instant, in µs since 1970, when they end.
type ledger struct {
	all     int
	pending int // reserves without an answer yet
	ends    map[int64]int
	first   int64 // no instant in ends is earlier
}

// begun is the number of reserves of a call that count until [opened.done].
type begun struct{ open, marked int }

// begin counts a reserve until [opened.done], or returns an error if the user has taken its part.
func (o *opened) begin(u *users.User, termed bool, in *begun) error {
	if u == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.by(u)
	if termed {
		if n := by.open.count(); n >= o.most {
			return fmt.Errorf("this user has %d open reservations of 256 bytes; accepted: fewer than %d", n, o.most)
		}
		by.open.pending++
		in.open++
		return nil
	}
	if n := by.marked.count(); n >= o.mostMarked {
		return fmt.Errorf("this user has made %d reservations without settle_within that could still be settled; accepted: fewer than %d", n, o.mostMarked)
	}
	by.marked.pending++
	in.marked++
	return nil
}

// done ends the reserves of a call that has been observed.
func (o *opened) done(u *users.User, of begun) {
	if u == nil || of == (begun{}) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.of[u.Name]
	by.open.pending -= of.open
	by.marked.pending -= of.marked
}

// by returns what a user has made. If the user has taken a part, or has twice as many renewed reservations as before, it
// first forgets what has ended: reservations that are renewed here and settled by another server would otherwise stay until
// each user has taken its part (regression: bug 258). It requires the lock.
func (o *opened) by(u *users.User) *openedBy {
	by := o.of[u.Name]
	if by == nil {
		by = &openedBy{open: ledger{ends: map[int64]int{}}, marked: ledger{ends: map[int64]int{}}, renewed: map[string]int64{}, forgetAt: leastForgotten}
		o.of[u.Name] = by
	}
	now := time.Now().UnixMicro()
	if by.marked.count() >= o.mostMarked {
		by.marked.end(now)
	}
	if by.open.count() >= o.most || len(by.renewed) >= by.forgetAt {
		if by.open.end(now) {
			maps.DeleteFunc(by.renewed, func(_ string, end int64) bool { return end <= now })
		}
		by.forgetAt = max(leastForgotten, 2*len(by.renewed))
	}
	return by
}

// leastForgotten is the least number of renewed reservations of a user among which ended ones are looked for.
const leastForgotten = 1000

func (l *ledger) count() int { return l.all + l.pending }

func (l *ledger) add(n int, end int64) {
	if l.all += n; len(l.ends) == 0 || end < l.first {
		l.first = end
	}
	l.ends[end] += n
}

// end forgets the reservations that have ended, and reports whether there were any. It looks only when one may have ended:
// a user that reserves far ahead has an instant for each reservation (regression: bug 259).
func (l *ledger) end(now int64) bool {
	if now < l.first {
		return false
	}
	before := l.all
	l.first = math.MaxInt64
	for end, n := range l.ends {
		if end <= now {
			l.all -= n
			delete(l.ends, end)
		} else {
			l.first = min(l.first, end)
		}
	}
	return l.all < before
}

// observe counts a user's reserve, renewal or settlement.
func (o *opened) observe(u *users.User, r *decide.Request, answer *decide.Response) {
	text := r.Reservation
	made := r.Kind == engine.OpReserve && answer.Reservation != ""
	renewed := r.Kind == engine.OpSettle && r.Reports && answer.Found || r.Kind == engine.OpRenew && text != "" && answer.Allowed
	switch settled := r.Kind == engine.OpSettle && !r.Reports && answer.Found; {
	case made:
		text = answer.Reservation
	case !settled && !renewed:
		return
	}
	_, unsigned, _ := strings.Cut(text, ".")
	held, err := engine.ParseReservation(unsigned)
	if err != nil || held.Term == nil && !made || !madeBy(u, held.ID) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by, n := o.by(u), 1+len(unsigned)/256
	switch {
	case held.Term == nil:
		by.marked.add(n, rounded(held.Ends, engine.SettleAtMost))
	case made:
		by.open.add(n, endOf(held, held.Due))
	case renewed:
		by.remove(n, held)
		end := endOf(held, time.Now().Add(held.Term.Within).UnixMicro())
		by.renewed[strings.Clone(held.ID)] = end
		by.open.add(n, end)
	default:
		by.remove(n, held)
	}
}

// endOf returns the end of a reservation's term, rounded.
func endOf(held *engine.Reservation, end int64) int64 { return rounded(end, held.Term.Within) }

// rounded rounds the end of a time up to a 64th of it or a second, which bounds the instants that are kept.
func rounded(end int64, within time.Duration) int64 {
	grain := max(within/64, time.Second).Microseconds()
	return (end/grain + 1) * grain
}

// remove takes back what was added for a reservation, unless another process has made it, or before this one started.
func (by *openedBy) remove(n int, held *engine.Reservation) {
	end, renewed := by.renewed[held.ID]
	if !renewed {
		end = endOf(held, held.Due)
	}
	delete(by.renewed, held.ID)
	open := &by.open
	if open.ends[end] < n {
		return
	}
	open.all -= n
	if open.ends[end] -= n; open.ends[end] == 0 {
		delete(open.ends, end)
	}
}
