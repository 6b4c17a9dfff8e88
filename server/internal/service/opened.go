package service

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/users"
)

// opened counts the open reservations with a term that each user has made or renewed through this server, so that no user
// can leave the others without room: one user can take a quarter of the store's. A reservation counts once for each
// started 256 bytes of its text, as in memory.
type opened struct {
	most int
	mu   sync.Mutex
	of   map[string]*openedBy // by the user's name
}

// openedBy is what one user has opened: in all, and by the instant, in µs since 1970, when the terms end. For renewed
// reservations, renewed has that instant by their ids.
type openedBy struct {
	all     int
	pending int // reserves without an answer yet
	ends    map[int64]int
	renewed map[string]int64
}

// begin counts a reserve until [opened.done], or returns an error if the user has taken its part.
func (o *opened) begin(u *users.User) error {
	if u == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.by(u)
	if n := by.all + by.pending; n >= o.most {
		return fmt.Errorf("this user has %d open reservations of 256 bytes; accepted: fewer than %d", n, o.most)
	}
	by.pending++
	return nil
}

// done ends n reserves of a call that has been observed.
func (o *opened) done(u *users.User, n int) {
	if u == nil || n == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[u.Name].pending -= n
}

// by returns what a user has opened. If the user has taken its part, it first forgets what has ended, which bounds the
// memory also for a user that only renews here. It requires the lock.
func (o *opened) by(u *users.User) *openedBy {
	by := o.of[u.Name]
	if by == nil {
		by = &openedBy{ends: map[int64]int{}, renewed: map[string]int64{}}
		o.of[u.Name] = by
	}
	if by.all+by.pending >= o.most {
		by.end(time.Now().UnixMicro())
	}
	return by
}

// end forgets the reservations whose terms have ended.
func (by *openedBy) end(now int64) {
	before := by.all
	for end, n := range by.ends {
		if end <= now {
			by.all -= n
			delete(by.ends, end)
		}
	}
	if by.all < before {
		maps.DeleteFunc(by.renewed, func(_ string, end int64) bool { return end <= now })
	}
}

// observe counts a user's reserve, renewal or settlement.
func (o *opened) observe(u *users.User, r *decide.Request, answer *decide.Response) {
	text := r.Reservation
	made := r.Kind == engine.OpReserve && answer.SettleWithin > 0
	renewed := r.Kind == engine.OpSettle && r.Reports && answer.Found || r.Kind == engine.OpRenew && text != "" && answer.Allowed
	switch settled := r.Kind == engine.OpSettle && !r.Reports && answer.Found; {
	case made:
		text = answer.Reservation
	case !settled && !renewed:
		return
	}
	_, unsigned, _ := strings.Cut(text, ".")
	held, err := engine.ParseReservation(unsigned)
	if err != nil || held.Term == nil || !madeBy(u, held.ID) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by, n := o.by(u), 1+len(unsigned)/256
	switch {
	case made:
		by.add(n, endOf(held, held.Due))
	case renewed:
		by.remove(n, held)
		end := endOf(held, time.Now().Add(held.Term.Within).UnixMicro())
		by.renewed[strings.Clone(held.ID)] = end
		by.add(n, end)
	default:
		by.remove(n, held)
	}
}

// endOf rounds the end of a reservation's term, which bounds the instants that are kept.
func endOf(held *engine.Reservation, end int64) int64 {
	grain := max(held.Term.Within/64, time.Second).Microseconds()
	return (end/grain + 1) * grain
}

func (by *openedBy) add(n int, end int64) {
	by.all += n
	by.ends[end] += n
}

// remove takes back what was added for a reservation, unless another process has made it, or before this one started.
func (by *openedBy) remove(n int, held *engine.Reservation) {
	end, renewed := by.renewed[held.ID]
	if !renewed {
		end = endOf(held, held.Due)
	}
	delete(by.renewed, held.ID)
	if by.ends[end] < n {
		return
	}
	by.all -= n
	if by.ends[end] -= n; by.ends[end] == 0 {
		delete(by.ends, end)
	}
}
