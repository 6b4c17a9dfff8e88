package algo

import (
	"math/bits"
	"slices"
)

// guaranteedRate is a token bucket that guarantees each class of requests a part of its rate, and lends the
// unused parts.
var guaranteedRate = algorithm{
	name:   "guaranteed-rate",
	fields: []string{"guarantees", "lend", "rank", "burst", "name"},
	properties: properties{
		refills: true,
		// oneByOne is not set, because a class gets units at its own rate as well as lent units.
		burstIsCount: true, // as for a token bucket
		guarantees:   true,
		// The wait of a denial assumes that no other request takes a unit, so no request passes before the wait is
		// over.
		repeatable: true,
		// Units are not prefetched, because they would be taken from all classes ahead of the requests.
	},
	on: func(s *State) arithmetic { return (*guaranteed)(s) },
	// A process does not know the classes of other processes' requests, so a share is one bucket for all classes.
	shares: bucketShares,
	// Missing amounts are stored for each class's guarantee, so a limit with other guarantees uses another counter.
	grid:  func(l *Limit) Grid { return Grid{Count: l.Count, Period: l.Period, Guarantees: l.Guarantees} },
	spare: func(s *State, l *Limit, _ Instant) int64 { return (*guaranteed)(s).spare(l) },
	cover: func(l *Limit) (Limit, bool) {
		c := Limit{Algorithm: TokenBucket, Burst: l.Burst}
		c.Count, c.Period, _ = Reduce(l.Count, l.Period)
		return c, true
	},
	mostCharged: func(l *Limit) int64 { return l.Burst },
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, _ *Returns) {
		(*guaranteed)(s).giveHeld(l, t, n, h)
	},
}

// guaranteed is the state of a guaranteed rate. Each class has its own bucket, which refills at the guarantee. A shared
// bucket gets the rest of the rate and the overflow of the classes' buckets. All amounts are numbers of missing units,
// times the period.
//
// The limit as a whole is not exceeded: a single bucket with the whole rate and burst would never contain fewer units
// than all these buckets together, because it would not overflow before all of them are full.
type guaranteed State

// lent holds the missing amounts of the shared bucket and of each class's buckets.
type lent struct {
	at, shared int64
	of         []owing
}

// owing holds the amounts missing from a class's own bucket and from its ceiling's bucket.
type owing struct{ own, ceiling int64 }

// mostLent bounds the product of a time and a rate. It is far more than all buckets together can hold: see
// engine.Build.
const mostLent = 1 << 56

func lending(us, rate int64) int64 {
	hi, lo := bits.Mul64(uint64(us), uint64(rate))
	if hi > 0 || lo > mostLent {
		return mostLent
	}
	return int64(lo)
}

// after returns the state after us microseconds in which nothing is charged.
func (v *lent) after(l *Limit, us int64) *lent {
	all := l.Guarantees.Value()
	to := &lent{at: v.at + us, shared: v.shared, of: slices.Clone(v.of)}
	rest, spill := l.Count, int64(0)
	for i := range to.of {
		c, o := &all.Of[i], &to.of[i]
		rest -= c.Rate
		more := lending(us, c.Rate)
		if all.Down {
			more, spill = more+spill, 0
		}
		spill += max(0, more-o.own)
		o.own, o.ceiling = max(0, o.own-more), max(0, o.ceiling-lending(us, c.Ceiling))
	}
	to.shared = max(0, to.shared-spill-lending(us, rest))
	return to
}

// full returns the time until nothing is missing, if nothing is charged.
func (v *lent) full(l *Limit) int64 {
	all, owned, capped := l.Guarantees.Value(), int64(0), int64(0)
	for i, o := range v.of {
		owned, capped = max(owned, v.filled(&all, i)), max(capped, ceilOf(o.ceiling, all.Of[i].Ceiling))
	}
	return max(owned+ceilOf(v.after(l, owned).shared, l.Count), capped)
}

// filled returns the time until a class's own bucket is full. If classes lend down, the classes before it may help:
// together they need the sum of their missing amounts divided by the sum of their rates.
func (v *lent) filled(all *Guarantees, class int) int64 {
	soonest, own, rate := Never, int64(0), int64(0)
	for i := class; i >= 0 && (i == class || all.Down); i-- {
		own, rate = own+v.of[i].own, rate+all.Of[i].Rate
		soonest = min(soonest, ceilOf(own, rate))
	}
	return soonest
}

// has returns the amount that the limit's class can take from its own bucket and the shared bucket together.
func (v *lent) has(l *Limit) int64 {
	own, shared := v.left(l)
	return own + max(0, shared)
}

// left returns the amounts in the class's own bucket and in the shared bucket, which is negative after an overdraft.
func (v *lent) left(l *Limit) (own, shared int64) {
	class, all := l.own()
	return class.Burst*l.Period - v.of[l.Rank-1].own, all*l.Period - v.shared
}

// ceilOf returns ⌈a/b⌉, and 0 if a is 0.
func ceilOf(a, b int64) int64 {
	if a == 0 {
		return 0
	}
	return (a + b - 1) / b
}

// none reports whether nothing is missing. If more is missing than charges can cause, as in a damaged snapshot, none
// also returns true: such a state might never refill.
func (g *guaranteed) none(l *Limit) bool {
	all := l.Guarantees.Value()
	if g.extra == nil || len(g.lent.of) != all.N || g.lent.shared > 3*l.Burst*l.Period {
		return true
	}
	missing := g.lent.shared > 0
	for i, o := range g.lent.of {
		if o.own > all.Of[i].Burst*l.Period || o.ceiling > 2*all.Of[i].Most*l.Period {
			return true
		}
		missing = missing || o != owing{}
	}
	return !missing
}

func (g *guaranteed) behind(l *Limit, t Instant) (us int64, far bool) {
	if g.none(l) || g.lent.at <= t.Now {
		return 0, false
	}
	us = g.lent.at - t.Now
	return us, us > l.LongestRefill() && us > g.lent.full(l)
}

func (g *guaranteed) rewind(_ *Limit, t Instant) {
	own := *g.lent
	own.at, g.extra = t.Now, &extra{lent: &own}
}

func (g *guaranteed) settle(l *Limit, t Instant) {
	if g.none(l) {
		g.extra = &extra{lent: &lent{at: t.Now, of: make([]owing, l.Guarantees.Value().N)}}
		return
	}
	g.extra = &extra{lent: g.lent.after(l, max(0, t.Now-g.lent.at))}
}

// wait searches for the instant when the class has enough units. It must search, because units arrive at rates that
// change as buckets fill.
func (g *guaranteed) wait(l *Limit, _ Instant, cost int64) (wait int64, window int) {
	if cost > l.mostOfClass() {
		return Never, 0
	}
	own, _ := l.own()
	price := cost * l.Period
	if over := g.lent.of[l.Rank-1].ceiling + price - own.Most*l.Period; own.Ceiling > 0 && over > 0 {
		wait = ceilOf(over, own.Ceiling)
	}
	short := price - g.lent.has(l)
	if short <= 0 {
		return wait, 0
	}
	enough := func(us int64) bool {
		return g.lent.after(l, us).has(l) >= price
	}
	late := ceilOf(short, l.Count) // if the whole rate reached the class
	early := late
	for !enough(late) {
		early, late = late, 2*late
	}
	for late-early > 1 {
		if middle := early + (late-early)/2; enough(middle) {
			late = middle
		} else {
			early = middle
		}
	}
	return max(wait, late), 0
}

func (g *guaranteed) room(l *Limit, _ Instant) int64 {
	own, _ := l.own()
	room := g.lent.has(l) / l.Period
	if own.Ceiling > 0 {
		room = min(room, (own.Most*l.Period-g.lent.of[l.Rank-1].ceiling)/l.Period)
	}
	return max(0, room)
}

// spare returns the number of units that would pass if the capacity of the class were twice as large.
func (g *guaranteed) spare(l *Limit) int64 {
	own, _ := l.own()
	left, shared := g.lent.left(l)
	units := (l.mostOfClass()*l.Period + left + shared) / l.Period
	if own.Ceiling > 0 {
		units = min(units, (2*own.Most*l.Period-g.lent.of[l.Rank-1].ceiling)/l.Period)
	}
	return max(0, units)
}

// charge takes units from the class's own bucket first.
func (g *guaranteed) charge(l *Limit, _ Instant, cost, _ int64) (after int64) {
	own, _ := l.own()
	left, _ := g.lent.left(l)
	o, price := &g.lent.of[l.Rank-1], cost*l.Period
	first := min(price, left)
	o.own += first
	g.lent.shared += price - first
	if own.Ceiling > 0 {
		o.ceiling += price
	}
	return 0
}

func (g *guaranteed) give(l *Limit, _ Instant, n, _ int64) {
	amount := min(n, 4*l.Burst) * l.Period // more than can be missing
	g.returned(l, amount, amount)
}

// returned gives an amount back to the class's own bucket, and the excess to the shared bucket. It gives the amount
// ceiling back to the class's ceiling bucket.
func (g *guaranteed) returned(l *Limit, amount, ceiling int64) {
	o := &g.lent.of[l.Rank-1]
	first := min(amount, o.own)
	o.own -= first
	g.lent.shared = max(0, g.lent.shared-(amount-first))
	o.ceiling = max(0, o.ceiling-ceiling)
}

// giveHeld gives back at most the part of the charge that cannot have refilled yet, assuming that it refilled first.
func (g *guaranteed) giveHeld(l *Limit, t Instant, n int64, h *Held) {
	own, _ := l.own()
	since, charged := max(0, t.Now-h.Taken), min(h.Units, l.Burst)*l.Period
	most := min(n, l.Burst) * l.Period
	left := func(rate int64) int64 { return max(0, min(most, charged-lending(since, rate))) }
	g.returned(l, left(l.Count), left(own.Ceiling))
}

func (g *guaranteed) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.mostOfClass(), g.room(l, t), g.ttl(l, t)
}

func (g *guaranteed) ttl(l *Limit, _ Instant) int64 { return g.lent.full(l) }

func (g *guaranteed) append(to []byte) []byte {
	to = integers(to, g.lent.at, g.lent.shared, int64(len(g.lent.of)))
	for _, o := range g.lent.of {
		to = integers(to, o.own, o.ceiling)
	}
	return to
}

func (g *guaranteed) decode(d *decoder) {
	g.extra = &extra{lent: &lent{at: d.integer(), shared: d.natural()}}
	for range d.count(2) {
		g.lent.of = append(g.lent.of, owing{own: d.natural(), ceiling: d.natural()})
	}
	d.failed = d.failed || len(g.lent.of) > MaxClasses
}
