package model

import (
	"math/big"
	"slices"
	"strconv"
)

// These are the operations on reservations (section 8).
const (
	Reserve = "reserve"
	Settle  = "settle"
)

// These are the stages of settling a reservation with a term.
const (
	Final   = "final"
	Report  = "report"
	Overdue = "overdue"
)

// SettleWithinUS and SettleAtMostUS are the minimum and the maximum time that a reservation can still be settled after
// its slot.
const (
	SettleWithinUS = 300_000_000
	SettleAtMostUS = 3_600_000_000
)

// Reservation holds the charges of a reserve.
type Reservation struct {
	limits  []Limit
	held    []held
	endsUS  int64
	termUS  int64 // 0 if there is no term
	settled bool
}

// Open reports whether a reservation is open: it has a term and has not been settled.
func (r *Reservation) Open() bool { return r.termUS > 0 && !r.settled }

// EndsUS returns the time when settlements cease to have an effect.
func (r *Reservation) EndsUS() int64 { return r.endsUS }

// held is a reservation's charge on one limit.
type held struct {
	id    string // the permit's id
	units int64
	taken int64 // when the units count
	slot  int64 // when the caller's wait ends
	told  int64 // units reported as used so far
	ends  int64 // when a bucket would be fully refilled if there were no other requests
}

// Reserve charges each limit its cost. It also charges units that become available in a bucket only later, up to
// longestUS from now. If the request is denied, the reservation is nil. If there is a term, the reservation is open until
// it is settled, by the caller or, when the term has passed, as overdue.
func (s *Subject) Reserve(limits []Limit, costs []int64, longestUS, termUS, atUS int64) (Answer, *Reservation) {
	s.made++
	items := s.look(limits, costs, atUS)
	r := &Reservation{limits: limits, termUS: termUS, held: make([]held, len(limits))}
	waits, delays, allowed := make([]int64, len(items)), make([]int64, len(items)), true
	for i, it := range items {
		if h, ok := it.view.(*holding); ok {
			h.id = strconv.Itoa(s.made)
		}
		waits[i], delays[i] = it.reserve(delaying(limits), longestUS)
		allowed = allowed && waits[i] == 0
	}
	made := 0
	if hasChoices(items) {
		allowed, made = choose(items, func(i int) int64 { return waits[i] })
	}
	for i, it := range items {
		if it.aside && allowed {
			waits[i], delays[i] = 0, 0
		}
		r.held[i] = held{id: strconv.Itoa(s.made), units: it.cost, taken: it.view.place()}
		r.held[i].slot = r.held[i].taken + delays[i]
	}
	for i, it := range items {
		if b, ok := it.view.(*bucket); ok && allowed && it.cost > 0 && !it.limit.paces() {
			b.lent = delays[i]
		}
	}
	d := s.charged(items, waits, delays, allowed).paid(made)
	if !allowed {
		return d.Answer, nil
	}
	for i := range r.held {
		h := &r.held[i]
		h.ends = atUS + d.Each[i].ResetAfterUS
		counted := max(h.ends, h.slot+SettleWithinUS)
		if items[i].limit.Algorithm != Concurrency {
			counted = min(counted, h.slot+SettleAtMostUS)
		}
		r.endsUS = max(r.endsUS, counted)
	}
	if termUS > 0 {
		r.endsUS = atUS + termUS
	}
	return d.Answer, r
}

// charged charges the items or, for a denied request, only the items that count denials, and returns the decision.
func (s *Subject) charged(items []item, waits, delays []int64, allowed bool) Decision {
	_, counts := deniedFor(items)
	longest := slices.Max(waits)
	counts = counts && longest < never
	for _, it := range items {
		switch {
		case it.cost == 0:
		case allowed:
			it.view.spend(it.cost)
			if it.limit.Algorithm != Penalty {
				s.store(it)
			} else if it.moved != nil {
				s.stored[it.key] = it.moved
			}
		case it.limit.countsDenied() && counts:
			it.view.deny(it.cost, longest)
			s.store(it)
		case it.moved != nil:
			s.stored[it.key] = it.moved
		}
		if it.reported {
			s.store(it)
		}
	}
	for i := range items {
		if !allowed && waits[i] == 0 {
			delays[i] = 0
		}
	}
	rows := report(items, !allowed)
	for i := range rows {
		if _, ok := items[rows[i].item].bucket(); ok && !allowed {
			rows[i].wait = waits[rows[i].item]
		}
	}
	return conclude(rows, items, allowed, delays)
}

// bucket returns the item's bucket, including the bucket of a fair limit. ok is false for other algorithms.
func (it *item) bucket() (b *bucket, ok bool) {
	if p, ok := it.view.(*pool); ok {
		return p.bucket, true
	}
	b, ok = it.view.(*bucket)
	return b, ok
}

// delaying reports whether every limit can delay its callers. A limit that is a choice cannot.
func delaying(limits []Limit) bool {
	for i, l := range limits {
		if l.Choice != 0 {
			return false
		}
		switch keyOf(l, i, len(limits)).algorithm {
		case TokenBucket, Pacer, FairPacer, Penalty:
		default:
			return false
		}
	}
	return true
}

// reserve returns the wait until a reservation passes, and the delay that its caller then gets.
func (it *item) reserve(delays bool, longestUS int64) (wait, delay int64) {
	for _, r := range it.view.rows(it.cost) {
		wait = max(wait, r.wait)
	}
	if it.cost == 0 {
		return 0, 0
	}
	b, ok := it.bucket()
	switch {
	case it.limit.paces() && wait != never:
		if delay = it.view.delay(it.cost); delay <= longestUS {
			if wait > 0 {
				delay = 0
			}
			return wait, delay
		}
		needed := max(wait, delay-longestUS+b.behind)
		if absent(it.limit, 0).delay(it.cost) > longestUS {
			needed = never // even an unused limit would delay the caller for longer than it accepts
		}
		return needed, delay
	case wait == 0:
		delay = it.view.delay(it.cost)
	case ok && delays && wait != never && !it.limit.paces():
		l, p := it.limit.rate()
		if l.Cmp(b.l) != 0 || p.Cmp(b.p) != 0 || b.promised > 0 && less(mul(l, b.nextP), mul(b.nextL, p)) {
			return wait, 0 // another version's rate is or will be active, and must stay so
		}
		delay = wait - b.behind
		if it.limit.NextPays {
			longestUS = min(longestUS, MaxPeriodUS/2)
		}
		if ahead := floorDiv(mul(num(MaxUnits), p), l); ahead.IsInt64() {
			longestUS = min(longestUS, ahead.Int64())
		}
	default:
		return wait, 0
	}
	if delay <= longestUS {
		return 0, delay
	}
	wait = delay - longestUS
	if ok {
		wait += b.behind
	}
	return wait, delay
}

// Settle ends a reservation. The used argument lists the units used on each limit. For a permit it is ignored. A report
// leaves the reservation open for another term, and the units that it reports stay used.
func (s *Subject) Settle(r *Reservation, used []int64, stage string, atUS int64) (a Answer, settled bool) {
	settled = !r.settled && (atUS < r.endsUS) == (stage != Overdue)
	r.settled = r.settled || settled && stage != Report
	if settled && stage == Report {
		r.endsUS = atUS + r.termUS
	}
	items := s.look(r.limits, each(r.limits, 0), atUS)
	for i, it := range items {
		_, stored := s.stored[it.key]
		h := &r.held[i]
		_, permit := it.view.(*holding)
		actual, charged := max(used[i], h.told), max(h.units, h.told)
		more := actual - charged
		switch {
		case h.units == 0 || permit && stage == Report:
			continue
		case permit:
			more = -h.units
		case settled && stage == Report:
			h.told, more = actual, max(more, 0)
		}
		switch {
		case !settled || more == 0 || more < 0 && !stored:
			continue
		case more > 0:
			if more = min(more, it.spare(atUS)); more == 0 {
				continue
			}
			it.view.spend(more)
		default:
			s.back[it.key] = it.view.giveBack(-more, r.held[i], s.back[it.key])
			it.view = it.view.at(it.limit, atUS)
		}
		s.store(it)
		items[i] = it
	}
	return conclude(report(items, false), items, true, make([]int64, len(items))).Answer, settled
}

// spare returns the number of units that a settlement can still charge: as many as would pass if the capacity,
// including a bucket's debt or queue, were twice as large.
func (it *item) spare(atUS int64) int64 {
	if p, ok := it.view.(*pool); ok {
		return p.spare()
	}
	if it.limit.Algorithm == Penalty {
		return 0
	}
	if g, ok := it.view.(*governor); ok {
		return bounded(floorDiv(sub(add(g.full(), g.full()), g.d), g.p))
	}
	b, ok := it.view.(*bucket)
	switch {
	case ok && it.limit.NextPays: // up to the maximum debt
		return bounded(floorDiv(sub(add(b.full(), b.tokens(b.largest())), b.d), b.p))
	case ok:
		return bounded(floorDiv(sub(add(b.cap(), b.full()), b.d), b.p))
	}
	twice := it.limit
	twice.Burst *= 2
	if twice.Limit += it.limit.largest(); len(it.limit.Windows) > 0 {
		twice.Windows = slices.Clone(it.limit.Windows)
		for i := range twice.Windows {
			twice.Windows[i].Limit += it.limit.largest()
		}
	}
	if f, ok := it.view.(*fixed); ok {
		return max(0, min(twice.Limit, MaxUnits)-f.count)
	}
	return it.view.at(twice, atUS).most()
}

// place returns the instant at or after the clock's time when units charged now count.
func (b *bucket) place() int64 { return b.ts }

func (f *fixed) place() int64 {
	start := f.end - f.limit.WindowUS
	if f.limit.Calendar != "" {
		start, _ = f.limit.window(f.end - 1)
	}
	return max(f.now, start)
}

func (s *sliding) place() int64 { return s.now }

func (g *log) place() int64 { return g.now }

// giveBack gives back n units of a reservation, but no more than the smallest of the amounts in section 8.
func (b *bucket) giveBack(n int64, h held, r returns) returns {
	now := b.ts // the clock, or the state's instant if the clock is behind it
	if now >= h.ends || b.limit.paces() && now >= h.slot {
		return r
	}
	r = r.live(b.p, now)
	l, p := b.limit.rate()
	if b.limit.Algorithm == AdaptiveRate {
		l, p = b.l, b.p
	}
	same := l.Cmp(b.l) == 0 && p.Cmp(b.p) == 0
	charged := mul(num(h.ends-h.taken), l) // in 1/p token
	tokens := floorDiv(charged, p)
	back := add(mul(tokens, b.p), floorDiv(mul(sub(charged, mul(tokens, p)), b.p), p))
	back = larger(num(0), sub(back, mul(num(max(0, now-h.taken)), b.l)))
	back = larger(num(0), sub(back, r.before(h)))
	back = smaller(smaller(b.tokens(n), b.d), back)

	later := b.d
	if same {
		later = sub(add(mul(ceilDiv(b.d, b.l), b.l), r.before(h)), mul(num(h.ends-now), b.l))
		if later.Sign() > 0 {
			later = add(later, sub(b.l, num(1)))
		}
	}
	one := returned{from: h, until: now, ends: now + b.fills()}
	waited := r.waited(h, now)
	delays := b.limit.Algorithm != FairShare && b.limit.Algorithm != AdaptiveRate
	// A caller that keeps a part of its units, and is not at its slot yet, uses them there.
	stands := delays && !b.limit.NextPays && n < h.units && now < h.slot
	if over := larger(num(0), sub(add(b.d, waited), b.full())); stands || delays && later.Sign() > 0 && over.Sign() > 0 {
		until, use := now+ceilDiv(over, b.l).Int64(), larger(num(0), later)
		if stands {
			until, use = max(until, h.slot), add(use, b.tokens(h.units-n))
		}
		one.waits = &until
		back = smaller(back, larger(num(0), sub(larger(num(0), b.free(use)), waited)))
		later = use
	}
	if b.promised > 0 && later.Sign() > 0 { // a caller of another version may wait, until the last slot
		until := now + b.promised
		one.waits = &until
		back = smaller(back, larger(num(0), sub(sub(b.d, mul(num(b.promised), b.l)), later)))
	}
	if back.Sign() == 0 {
		return r
	}
	b.d = sub(b.d, back)
	one.sum = back
	if ordered := same && b.l.Cmp(b.p) <= 0; !ordered || later.Sign() > 0 {
		return r.with(one, ordered)
	}
	return r
}

// free returns the amount that can be given back even though later callers are waiting.
func (b *bucket) free(later *big.Int) *big.Int {
	switch {
	case b.limit.NextPays:
		return num(0)
	case b.limit.Debt > 0:
		return smaller(sub(b.full(), b.l), sub(add(b.full(), b.tokens(b.limit.Debt)), later))
	}
	return sub(b.full(), later)
}

func (f *fixed) giveBack(n int64, h held, r returns) returns {
	start := f.end - f.limit.WindowUS
	if f.limit.Calendar != "" {
		start, _ = f.limit.window(f.end - 1)
	}
	if start <= h.taken && h.taken < f.end {
		f.give(n)
	}
	return r
}

func (s *sliding) giveBack(n int64, h held, r returns) returns {
	at := segmentAt(s.limit, h.taken)
	if at >= segmentAt(s.limit, s.now)-s.k {
		s.counts[at] = max(0, s.counts[at]-n)
	}
	return r
}

func (g *log) giveBack(n int64, h held, r returns) returns {
	if h.taken <= g.now-g.span {
		return r
	}
	var kept []entry
	for _, e := range g.entries {
		if e.at == h.taken {
			back := min(n, e.cost)
			e.cost, n = e.cost-back, n-back
		}
		if e.cost > 0 {
			kept = append(kept, e)
		}
	}
	g.entries = kept
	return r
}
