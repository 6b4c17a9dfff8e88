package algo

import "encoding/binary"

// fairConcurrency bounds the units that all keys hold at the same time, and divides them among the keys.
var fairConcurrency = algorithm{
	name:       "fair-concurrency",
	code:       "fc",
	fields:     []string{"lease", "weight", "name"},
	properties: properties{holds: true, divides: true}, // as for a concurrency limit
	on:         func(s *State) arithmetic { return (*fairPermits)(s) },
	// A process knows which of its own keys hold permits, so its share is a fair limit too.
	shares:      concurrency.shares,
	hold:        holdPermit,
	release:     concurrency.release,
	sharesBound: concurrency.sharesBound,
	// The bound has all the permits; a lone key cannot hold more.
	upperBound: func(l *Limit) (Limit, bool) {
		return Limit{Algorithm: Concurrency, Count: l.Count, Period: l.Period}, true
	},
}

// fairPermits is the state of a fair-concurrency limit: the permits of all keys. A permit's id begins with the number of
// its key, so that two keys can use the same id.
type fairPermits State

// keyBytes is the length of a key's number at the beginning of an id. Ids are at least one byte longer.
const keyBytes = 8

func keyOf(id string) string { return id[:keyBytes] }

// holder returns the id of a holder's permit in the state.
func (s *Step) holder(id string) string {
	if !s.Limit.Algorithm.Divides() {
		return id
	}
	return holderOf(s.KeyHash, id)
}

func holderOf(keyHash uint64, id string) string {
	return string(append(binary.BigEndian.AppendUint64(make([]byte, 0, keyBytes+len(id)), keyHash), id...))
}

// division contains the numbers that determine how many permits a key can get: the units of all keys, the key's own
// units, and the sum of the squares of all keys' units.
type division struct{ held, own, squares int64 }

// less returns the division after one key has given back some units. The argument of is the number of units that the
// key held before, and own is set if it is the request's key.
func (d division) less(units, of int64, own bool) division {
	d.held -= units
	d.squares -= units * (2*of - units)
	if own {
		d.own -= units
	}
	return d
}

// of returns the division for the key of an id.
func (s *Permits) of(id string) division {
	return division{held: s.held, own: s.byKey[keyOf(id)], squares: s.squares}
}

// room returns the largest number of units that the key can get. M = squares/held is the average, over all held units,
// of the number of units that the unit's key holds. A key that would hold M units after the request must leave a
// sixteenth of the permits free. A key with fewer units must leave proportionally fewer free, and a key with more units
// proportionally more, up to an eighth. A key of weight 3 must leave a third of that number. Therefore, while keys
// compete, the larger key waits for the smaller one. A key without units gets one as long as one is free.
func (d division) room(l *Limit) int64 {
	free := l.Count - d.held
	if free <= 0 {
		return 0
	}
	leave := func(units, by int64) int64 { return free - (units+by-1)/by }
	reserve := (l.Count + 15) / 16
	most := leave(reserve, l.Weight)
	if d.held > 0 {
		// c units pass iff weight·(free − c)·M ≥ reserve·(own + c), or weight·(free − c) ≥ 2·reserve.
		most = leave(reserve*d.held*(free+d.own), l.Weight*d.squares+reserve*d.held)
		most = max(most, leave(2*reserve, l.Weight))
	}
	if d.own == 0 {
		most = max(most, 1)
	}
	return max(0, most)
}

// mostHeld returns the largest number of units that a key can get at once while no key holds any.
func (l *Limit) mostHeld() int64 { return division{}.room(l) }

// fairWait returns the time until the cost fits in addition to the units of all other holders. A holder can always
// reduce its units.
func (s *Permits) fairWait(l *Limit, t Instant, id string, cost int64) int64 {
	before, key := s.units(id), keyOf(id)
	d := s.of(id).less(before, s.byKey[key], true)
	fits := func() bool { return cost <= before && cost <= l.Count-d.held || cost <= d.room(l) }
	if fits() {
		return 0
	}
	if cost > max(before, l.mostHeld()) || cost > l.Count {
		return Never
	}
	// Permits with the same expiry expire together, so the check comes after the last of them. After only some of them,
	// fewer units can fit than before, because the average no longer includes the expired units of a large key.
	left, last := map[string]int64{key: d.own}, t.Now
	for i := range s.list {
		e := &s.list[i]
		if e.id == id {
			continue
		}
		if e.expires > last && fits() {
			break
		}
		of := keyOf(e.id)
		if _, seen := left[of]; !seen {
			left[of] = s.byKey[of]
		}
		d, last = d.less(e.cost, left[of], of == key), e.expires
		left[of] -= e.cost
	}
	return last - t.Now
}

func (f *fairPermits) behind(l *Limit, t Instant) (us int64, far bool) { return f.permits.behind(l, t) }
func (f *fairPermits) rewind(l *Limit, t Instant)                      { f.permits.rewind(l, t) }

func (f *fairPermits) settle(l *Limit, t Instant) {
	f.permits.settle(l, t)
	if f.permits.byKey == nil {
		f.permits.byKey = map[string]int64{}
	}
	if f.extra == nil {
		f.extra = &extra{}
	}
}

// asks returns the prefix of the request's key in permit ids.
func (f *fairPermits) asks() string { return holderOf(f.parts.keyHash, "") }

func (f *fairPermits) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	return f.permits.waitBeside(l, t, f.asks(), cost), 0
}

func (f *fairPermits) room(l *Limit, _ Instant) int64 { return f.permits.of(f.asks()).room(l) }

func (f *fairPermits) charge(*Limit, Instant, int64, int64) (after int64) { return 0 }
func (f *fairPermits) give(*Limit, Instant, int64, *Held)                 {}

func (f *fairPermits) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.mostHeld(), f.room(l, t), f.ttl(l, t)
	d := f.permits.of(f.asks())
	if o.HeldByAll, o.HeldByKey, o.HeavyKeys = d.held, d.own, 0; d.squares > 0 {
		o.HeavyKeys = d.held * d.held / d.squares
	}
}

func (f *fairPermits) ttl(l *Limit, t Instant) int64 { return f.permits.ttl(l, t) }
func (f *fairPermits) append(to []byte) []byte       { return f.permits.append(to) }

func (f *fairPermits) decode(d *decoder) {
	f.permits.decode(d)
	p := f.permits.Permits
	p.byKey, p.held, p.squares = map[string]int64{}, 0, 0
	for _, e := range p.list {
		if d.failed = d.failed || len(e.id) <= keyBytes; d.failed {
			return
		}
		p.add(e.id, e.cost)
	}
}
