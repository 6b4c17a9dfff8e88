package algo

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
)

// concurrency bounds the units held at the same time. Units are held under an id, so nothing can be charged or given
// without one. Its operations are in hold.go.
var concurrency = algorithm{
	name:       "concurrency",
	code:       "cc",
	fields:     []string{"lease", "name"},
	properties: properties{holds: true}, // a unit is free again when its permit is released or expires
	on:         func(s *State) arithmetic { return &s.permits },
	shares: func(l *Limit, n int64) []Share {
		own := *l
		own.Count = max(1, l.Count/n)
		return []Share{{Limit: own, SameAlgorithm: true, Scale: 1}}
	},
	hold:    holdPermit,
	release: func(s *State, holder string) { s.permits.release(holder) },
	// Each process grants its share of the permits, although the store may have granted all of them.
	sharesBound: func(l *Limit, n int64) int64 { return max(l.Count, n) },
}

func holdPermit(s *State, l *Limit, t Instant, holder string, units int64) {
	s.permits.acquire(l, t, strings.Clone(holder), units) // the state retains it
}

// permits holds the permits of a state. The pointer is nil in a state without permits.
type permits struct{ *Permits }

func (s *permits) rewind(_ *Limit, t Instant) { s.Permits = s.rewound(t) }
func (s *permits) settle(_ *Limit, t Instant) { s.Permits = s.settled(t) }
func (s *permits) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	return s.waitBeside(l, t, "", cost), 0
}
func (s *permits) charge(*Limit, Instant, int64, int64) (after int64) { return 0 }
func (s *permits) give(*Limit, Instant, int64, *Held)                 {}
func (s *permits) decode(d *decoder)                                  { s.Permits = d.permits() }

// Permits is the state of a concurrency limit: the permits, ordered by expiry. Each contains its holder's id, its units
// and its expiry.
type Permits struct {
	list []lease
	// expiry maps each holder to its permit's expiry, so that find can search the ordered list.
	expiry map[string]int64
	held   int64
	// byKey maps each key to its units, and squares is the sum of the squares of these units. byKey is nil for a limit
	// that does not divide its units among keys.
	byKey   map[string]int64
	squares int64
	// latest is the instant when the last permit was acquired or renewed.
	latest int64
}

// lease is one permit. It stores its own length, so that another version of the limit cannot shorten it.
type lease struct {
	expires int64
	length  int64
	cost    int64
	id      string
}

func newPermits() *Permits { return &Permits{expiry: map[string]int64{}} }

func (s *Permits) clone() *Permits {
	c := &Permits{list: slices.Clone(s.list), expiry: make(map[string]int64, len(s.list)), held: s.held, byKey: maps.Clone(s.byKey), squares: s.squares, latest: s.latest}
	for _, e := range s.list {
		c.expiry[e.id] = e.expires
	}
	return c
}

// behind sets far if the clock is behind the start of a permit. A permit that starts in the future lasts at most its
// own length from now (rule 8).
func (s *Permits) behind(_ *Limit, t Instant) (us int64, far bool) {
	return 0, s != nil && len(s.list) > 0 && t.Now < s.latest
}

// rewound returns the permits after the clock was set back.
func (s *Permits) rewound(t Instant) *Permits {
	c := s.clone()
	for i := range c.list {
		e := &c.list[i]
		e.expires = min(e.expires, t.Now+e.length)
		c.expiry[e.id] = e.expires
	}
	slices.SortStableFunc(c.list, func(a, b lease) int { return cmp.Compare(a.expires, b.expires) })
	c.latest = t.Now
	return c
}

// settled returns the permits without the expired ones. It does not change s.
func (s *Permits) settled(t Instant) *Permits {
	if s == nil {
		return newPermits()
	}
	expired := s.from(t.Now + 1)
	if expired == 0 {
		return s
	}
	c := s.clone()
	for _, e := range c.list[:expired] {
		c.add(e.id, -e.cost)
		delete(c.expiry, e.id)
	}
	c.list = slices.Delete(c.list, 0, expired)
	return c
}

// Permits returns how many permits a concurrency limit's state holds, and how many of them have not expired.
func (s *State) Permits(now int64) (stored, live int) {
	if s.permits.Permits == nil {
		return 0, 0
	}
	return len(s.permits.list), len(s.permits.list) - s.permits.from(now+1)
}

// from returns the index of the first permit that expires at the instant or later.
func (s *Permits) from(at int64) int {
	return sort.Search(len(s.list), func(i int) bool { return s.list[i].expires >= at })
}

// find returns the index of the holder's permit, or −1 if the holder has no permit.
func (s *Permits) find(id string) int {
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

// units returns the number of units that the id holds.
func (s *Permits) units(id string) int64 {
	if i := s.find(id); i >= 0 {
		return s.list[i].cost
	}
	return 0
}

// add adds units to the sums of all permits and of the holder's key.
func (s *Permits) add(id string, units int64) {
	s.held += units
	if s.byKey == nil {
		return
	}
	key := keyOf(id)
	own := s.byKey[key] + units
	s.squares += units * (2*own - units)
	if s.byKey[key] = own; own == 0 {
		delete(s.byKey, key)
	}
}

// waitBeside returns the time until the cost fits in addition to the units of all other holders.
func (s *Permits) waitBeside(l *Limit, t Instant, id string, cost int64) int64 {
	if l.Algorithm.Divides() {
		return s.fairWait(l, t, id, cost)
	}
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

func (s *Permits) acquire(l *Limit, t Instant, id string, cost int64) {
	s.release(id)
	at := t.Now + l.Period
	s.list = slices.Insert(s.list, s.from(at+1), lease{expires: at, length: l.Period, cost: cost, id: id})
	s.expiry[id] = at
	s.add(id, cost)
	s.latest = t.Now
}

// renew extends the holder's permit. It returns false if the permit is lost.
func (s *Permits) renew(l *Limit, t Instant, id string) bool {
	i := s.find(id)
	if i < 0 {
		return false
	}
	s.acquire(l, t, id, s.list[i].cost)
	return true
}

// release removes the holder's permit. It returns false if the id held none.
func (s *Permits) release(id string) bool {
	i := s.find(id)
	if i < 0 {
		return false
	}
	s.add(id, -s.list[i].cost)
	s.list = slices.Delete(s.list, i, i+1)
	delete(s.expiry, id)
	return true
}

func (s *Permits) room(l *Limit, _ Instant) int64 { return max(0, l.Count-s.held) }

func (s *Permits) report(l *Limit, t Instant, o *Outcome) {
	o.Limit = l.Count
	o.Remaining = s.room(l, t)
	o.Reset = s.ttl(l, t)
}

func (s *Permits) ttl(_ *Limit, t Instant) int64 {
	if len(s.list) == 0 {
		return 0
	}
	return s.list[len(s.list)-1].expires - t.Now
}
