package algo

import (
	"slices"
	"sort"
)

// Leases is the state of a concurrency limit: who holds how much until when,
// ordered by expiry.
type Leases struct {
	list []lease
	// expiry finds a lease by its id: the list is searched for the instant.
	expiry map[string]int64
	held   int64
}

type lease struct {
	expires int64
	cost    int64
	id      string
}

func newLeases() *Leases { return &Leases{expiry: map[string]int64{}} }

func (s *Leases) clone() *Leases {
	c := &Leases{list: slices.Clone(s.list), expiry: make(map[string]int64, len(s.list)), held: s.held}
	for _, e := range s.list {
		c.expiry[e.id] = e.expires
	}
	return c
}

// settle drops expired leases, and after the clock was set back shortens those
// that would outlive a lease taken now (rule 8). It works on a copy.
func (s *Leases) settle(l *Limit, t Instant) (settled *Leases, corrected bool) {
	if s == nil {
		return newLeases(), false
	}
	latest := t.Now + l.Period
	expired, late := s.from(t.Now+1), s.from(latest+1)
	if expired == 0 && late == len(s.list) {
		return s, false
	}
	c := s.clone()
	for i := late; i < len(c.list); i++ {
		c.list[i].expires = latest
		c.expiry[c.list[i].id] = latest
	}
	for _, e := range c.list[:expired] {
		c.held -= e.cost
		delete(c.expiry, e.id)
	}
	c.list = slices.Delete(c.list, 0, expired)
	return c, late < len(s.list)
}

// from returns the index of the first lease that expires at the instant or
// later.
func (s *Leases) from(at int64) int {
	return sort.Search(len(s.list), func(i int) bool { return s.list[i].expires >= at })
}

// find returns the index of a lease, or −1.
func (s *Leases) find(id string) int {
	expires, ok := s.expiry[id]
	if !ok {
		return -1
	}
	i := s.from(expires)
	for s.list[i].id != id {
		i++
	}
	return i
}

// units returns what the id holds.
func (s *Leases) units(id string) int64 {
	if i := s.find(id); i >= 0 {
		return s.list[i].cost
	}
	return 0
}

func (s *Leases) wait(l *Limit, t Instant, cost int64) int64 {
	return s.waitBeside(l, t, "", cost)
}

// waitBeside returns when the cost fits beside what all but the id hold.
func (s *Leases) waitBeside(l *Limit, t Instant, id string, cost int64) int64 {
	if cost > l.Count {
		return Never
	}
	over := s.held + cost - l.Count
	over -= s.units(id)
	for i := 0; over > 0; i++ {
		if s.list[i].id == id {
			continue
		}
		if over -= s.list[i].cost; over <= 0 {
			return s.list[i].expires - t.Now
		}
	}
	return 0
}

func (s *Leases) acquire(l *Limit, t Instant, id string, cost int64) {
	s.release(id)
	at := t.Now + l.Period
	s.list = slices.Insert(s.list, s.from(at+1), lease{expires: at, cost: cost, id: id})
	s.expiry[id] = at
	s.held += cost
}

// renew extends a live lease; false means that it is lost.
func (s *Leases) renew(l *Limit, t Instant, id string) bool {
	i := s.find(id)
	if i < 0 {
		return false
	}
	s.acquire(l, t, id, s.list[i].cost)
	return true
}

// release gives a lease back; false means that it was not held.
func (s *Leases) release(id string) bool {
	i := s.find(id)
	if i < 0 {
		return false
	}
	s.held -= s.list[i].cost
	s.list = slices.Delete(s.list, i, i+1)
	delete(s.expiry, id)
	return true
}

func (s *Leases) report(l *Limit, t Instant, o *Outcome) {
	o.Limit = l.Count
	o.Remaining = max(0, l.Count-s.held)
	o.Reset = s.ttl(t)
}

func (s *Leases) ttl(t Instant) int64 {
	if len(s.list) == 0 {
		return 0
	}
	return s.list[len(s.list)-1].expires - t.Now
}
