package service

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/users"
)

// opened counts the open reservations with a term that each user has made through this server, so that no user can
// leave the others without room: one user can take a quarter of the store's. A reservation counts once for each started
// 256 bytes of its text, as in memory, and a renewed one until its first term ends.
type opened struct {
	most int
	mu   sync.Mutex
	of   map[string]*openedBy // by the user's name
}

// openedBy is what one user has opened: in all, and by the instant, in µs since 1970, when the terms end.
type openedBy struct {
	all  int
	ends map[int64]int
}

// check returns an error if the user has taken its part.
func (o *opened) check(u *users.User, now time.Time) error {
	if u == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.of[u.Name]
	if by == nil || by.all < o.most {
		return nil
	}
	for end, n := range by.ends {
		if end <= now.UnixMicro() {
			by.all -= n
			delete(by.ends, end)
		}
	}
	if by.all < o.most {
		return nil
	}
	return fmt.Errorf("this user has %d open reservations of 256 bytes; accepted: fewer than %d", by.all, o.most)
}

// observe counts a user's reserve or settlement.
func (o *opened) observe(u *users.User, r *decide.Request, answer *decide.Response) {
	n, text := 1, answer.Reservation
	switch {
	case r.Kind == engine.OpReserve && answer.SettleWithin > 0:
	case r.Kind == engine.OpSettle && answer.Found && !r.Reports:
		n, text = -1, r.Reservation
	default:
		return
	}
	_, unsigned, _ := strings.Cut(text, ".")
	held, err := engine.ParseReservation(unsigned)
	if err != nil || held.Term == nil || !made(u, held.ID) {
		return
	}
	o.add(u.Name, n*(1+len(unsigned)/256), held)
}

func (o *opened) add(user string, n int, held *engine.Reservation) {
	grain := max(held.Term.Within/64, time.Second).Microseconds() // bounds the instants that are kept
	end := (held.Due/grain + 1) * grain
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.of[user]
	if by == nil {
		by = &openedBy{ends: map[int64]int{}}
		o.of[user] = by
	}
	if n < 0 && by.ends[end] < -n { // made by another process, or before this one started
		return
	}
	by.all += n
	if by.ends[end] += n; by.ends[end] == 0 {
		delete(by.ends, end)
	}
}
