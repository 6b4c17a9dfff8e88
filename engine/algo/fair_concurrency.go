package algo

import "encoding/binary"

// fairConcurrency bounds the units that all keys hold at the same time, and divides them among the keys.
var fairConcurrency = algorithm{
	name:       "fair-concurrency",
	fields:     []string{"lease", "weight", "name"},
	properties: properties{holds: true, divides: true}, // as for a concurrency limit
	on:         func(s *State) arithmetic { return (*fairPermits)(s) },
	// A process knows which of its own keys hold its share.
	shares:      concurrency.shares,
	hold:        holdPermit,
	release:     concurrency.release,
	sharesBound: concurrency.sharesBound,
	// Other keys may hold nothing.
	cover: func(l *Limit) (Limit, bool) {
		return Limit{Algorithm: Concurrency, Count: l.Count, Period: l.Period}, true
	},
}

// fairPermits is the state of a fair-concurrency limit: the permits of all keys. A permit's id begins with the number of
// its key, so that two keys can use the same id.
type fairPermits State

// keyBytes is the length of a key's number at the beginning of an id. Ids have at least one byte more.
const keyBytes = 8

func keyOf(id string) string { return id[:keyBytes] }

// holder returns the id under which the state has the permit of a holder.
func (s *Step) holder(id string) string {
	if !s.Limit.Algorithm.Divides() {
		return id
	}
	return holderOf(s.Whose, id)
}

func holderOf(whose uint64, id string) string {
	return string(append(binary.BigEndian.AppendUint64(make([]byte, 0, keyBytes+len(id)), whose), id...))
}

// freePerUnit is how many units a key of weight 1 can hold for each unit that is free. A lone key can hold 8/9 of all
// units, and the rest is free for another key. With 1, as in a fair share, it would be half: there, unlike here, a lone
// key still gets the whole rate.
const freePerUnit = 8

// fair reports whether the key's units, with the cost, are at most freePerUnit times its weight for each unit that is
// then free. A key without units always gets one.
func (l *Limit) fair(held, own, cost int64) bool {
	return own == 0 && cost == 1 || own+cost <= freePerUnit*l.Weight*(l.Count-held-cost)
}

// mostHeld returns the largest number of units that a key can hold while no other key holds any.
func (l *Limit) mostHeld() int64 {
	w := freePerUnit * l.Weight
	return max(1, w*l.Count/(w+1))
}

func (f *fairPermits) behind(l *Limit, t Instant) (us int64, far bool) { return f.permits.behind(l, t) }
func (f *fairPermits) pull(l *Limit, t Instant)                        { f.permits.pull(l, t) }

func (f *fairPermits) settle(l *Limit, t Instant) {
	f.permits.settle(l, t)
	if f.permits.byKey == nil {
		f.permits.byKey = map[string]int64{}
	}
	if f.extra == nil {
		f.extra = &extra{}
	}
}

// asks returns the beginning of the ids of the request's key.
func (f *fairPermits) asks() string { return holderOf(f.parts.whose, "") }

func (f *fairPermits) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	return f.permits.waitBeside(l, t, f.asks(), cost), 0
}

// room returns the largest cost that fits: own + c ≤ w·(free − c).
func (f *fairPermits) room(l *Limit, _ Instant) int64 {
	free, own, w := l.Count-f.permits.held, f.permits.own(f.asks()), freePerUnit*l.Weight
	switch most := (w*free - own) / (w + 1); {
	case free <= 0:
		return 0
	case own == 0:
		return max(1, most)
	default:
		return max(0, most)
	}
}

func (f *fairPermits) charge(*Limit, Instant, int64, int64) (after int64) { return 0 }
func (f *fairPermits) give(*Limit, Instant, int64, int64)                 {}

func (f *fairPermits) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.mostHeld(), f.room(l, t), f.ttl(l, t)
}

func (f *fairPermits) ttl(l *Limit, t Instant) int64 { return f.permits.ttl(l, t) }
func (f *fairPermits) append(to []byte) []byte       { return f.permits.append(to) }

func (f *fairPermits) decode(d *decoder) {
	f.permits.decode(d)
	p := f.permits.Permits
	p.byKey, p.held = map[string]int64{}, 0
	for _, e := range p.list {
		if d.failed = d.failed || len(e.id) <= keyBytes; d.failed {
			return
		}
		p.add(e.id, e.cost)
	}
}
