package algo

import "slices"

// fairShare is a token bucket whose units are divided fairly among the keys that request them.
var fairShare = algorithm{
	name:   "fair-share",
	code:   "fs",
	fields: []string{"burst", "weight", "nested", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true,
		burstIsCount: true, // as for a token bucket
		divides:      true,
		keepsReturns: true,
	},
	fast: []string{"burst", "weight", "nested", "name"},
	// Denials are not repeated, because a key passes earlier if others give units back. Units are not prefetched, because
	// other keys may need them.
	on: func(s *State) arithmetic { return (*fair)(s) },
	// A process does not know the keys of other processes, so a share is one bucket for all keys.
	shares: bucketShares,
	// If versions of a limit had different rates, it would be unclear at which rate a key's part refills, so the rate
	// is part of the counter's name.
	grid:  func(l *Limit) Grid { return Grid{Count: l.Count, Period: l.Period} },
	spare: func(s *State, l *Limit, _ Instant) int64 { return s.bucket.spare(l) },
	// A key can use the whole bucket while no other key owes any units.
	upperBound: func(l *Limit) (Limit, bool) {
		return Limit{Algorithm: TokenBucket, Count: l.Count, Period: l.Period, Burst: l.Burst}, true
	},
	mostCharged: func(l *Limit) int64 { return l.Burst },
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns) {
		(*fair)(s).returned(func() { s.bucket.giveHeld(l, t.Now, n, h, r) })
	},
}

// fair is the state of a fair share or a fair pacer: one bucket for all keys, and a list of the keys that still owe
// some of the missing units. A key with s of S parts owes the fraction s/S of the missing units, so the parts need no
// update while the bucket refills. The arithmetic uses grains of 1/256 unit, because a key's part can be smaller than a
// unit.
type fair State

// parts lists the most recently charged keys. A key that drops off the end of the list loses its parts, but total still
// includes them.
type parts struct {
	total int64
	of    []part // the most recently charged key first

	// level, keyHash and at are used during one decision: the number of missing grains, the number of the request's key,
	// and the key's index in the list, or −1.
	level   int64
	keyHash uint64
	at      int
}

// ask begins the decision of a request.
func (p *parts) ask(keyHash uint64) {
	p.keyHash, p.at = keyHash, p.find(keyHash)
}

// find returns a key's index in the list. It returns −1 if the key is not in it.
func (p *parts) find(key uint64) int {
	for i := range p.of {
		if p.of[i].key == key {
			return i
		}
	}
	return -1
}

type part struct {
	key   uint64
	parts int64
}

const (
	grains = 256 // of one unit
	// MaxShares is the largest number of keys that a fair share or a fair pacer distinguishes at the same time.
	MaxShares = 256
	// The first key that is charged gets firstParts. The total stays below mostParts: before it would reach that
	// number, all parts are shifted right by partsShift.
	firstParts = 1 << 20
	mostParts  = 1 << 32
	partsShift = 8
)

// measure sets the level to the number of missing grains, rounded up.
func (f *fair) measure() {
	m := f.bucket.Missing
	if m.hi == 0 && m.lo < 1<<55 {
		p := uint64(f.bucket.Period)
		f.parts.level = int64((m.lo*grains + p - 1) / p)
		return
	}
	whole, rest := m.over(f.bucket.Period)
	f.parts.level = whole*grains + product(rest, grains).ceilOver(f.bucket.Period)
}

// bound limits how many of the D missing grains a key, or all keys of its group, can owe: a cost of m grains passes
// if ⌊parts·D/S⌋ + slope·D + price·m ≤ slope·B. S is the sum of all parts. B is the burst, plus the queue for a
// fair pacer, in grains.
type bound struct {
	parts, slope, price int64
	// none is set if the key or the group has no parts. In that case the bound does not apply to a single unit.
	none bool
}

// innerRoom limits the keys of a group: one key can owe innerRoom times the units that its group can still take. A
// larger factor would leave too little for the group's other keys. A smaller factor would give a group of one key less
// than a group of many keys.
const innerRoom = 8

// bounds returns the bounds for the request's key. For a nested limit, they are the group's bound and then the key's.
// Both follow from the room of a group of weight w: (w·(B − D) − owed by the group)/(w + 1) − m ≥ 0. A key of the group
// can owe innerRoom times the room of the group.
func (f *fair) bounds(l *Limit) (all [2]bound, n int) {
	own := int64(0)
	if f.parts.at >= 0 {
		own = f.parts.of[f.parts.at].parts
	}
	if !l.Nested {
		return [2]bound{{parts: own, slope: l.Weight, price: l.Weight + 1, none: own == 0}}, 1
	}
	group := f.ofGroup()
	outer := bound{parts: group, slope: l.Weight, price: l.Weight + 1, none: group == 0}
	inner := bound{parts: (l.Weight+1)*own + innerRoom*group, slope: innerRoom * l.Weight, price: (innerRoom + 1) * (l.Weight + 1), none: own == 0}
	return [2]bound{outer, inner}, 2
}

// groupBits is the number of bits in [Step].KeyHash that identify a key within its group. The upper bits identify the
// group.
const groupBits = 32

// ofGroup returns the parts of all keys of the request's group.
func (f *fair) ofGroup() (parts int64) {
	for i := range f.parts.of {
		if one := &f.parts.of[i]; one.key>>groupBits == f.parts.keyHash>>groupBits {
			parts += one.parts
		}
	}
	return parts
}

func (f *fair) behind(l *Limit, t Instant) (us int64, far bool) { return f.bucket.behind(l, t) }
func (f *fair) rewind(l *Limit, t Instant)                      { f.bucket.rewind(l, t) }

func (f *fair) settle(l *Limit, t Instant) {
	f.bucket.settle(l, t)
	if f.extra == nil {
		f.extra = &extra{}
	}
	f.measure()
}

// owed returns ⌊parts·D/S⌋, where D is the number of missing grains.
func (f *fair) owed(b *bound) int64 {
	if b.parts == 0 {
		return 0
	}
	held, _ := product(b.parts, f.parts.level).over(f.parts.total)
	return held
}

// wait admits a cost if the bucket contains enough units and the key, after the charge, owes no more than its bounds
// allow. If there are no groups, a key may owe its weight times the remaining units.
func (f *fair) wait(l *Limit, _ Instant, cost int64) (wait int64, window int) {
	if cost > l.mostOfOne() {
		return Never, 0
	}
	depth := product(l.pool()-cost, f.bucket.Period)
	bounds, n := f.bounds(l)
	for i := range bounds[:n] {
		b := &bounds[i]
		if b.none && cost == 1 || f.owed(b)+b.slope*f.parts.level+b.price*cost*grains <= b.slope*l.pool()*grains {
			continue
		}
		if within := f.depth(l, b, cost); within.less(depth) {
			depth = within
		}
	}
	if !depth.less(f.bucket.Missing) {
		return 0, 0
	}
	return f.bucket.Missing.minus(depth).ceilOver(f.bucket.Count), 0
}

// depth returns the largest missing amount with which the bound still admits the cost, which is at most that of
// mostOfOne.
func (f *fair) depth(l *Limit, b *bound, cost int64) uint128 {
	total, most := int64(1), b.slope*l.pool()*grains-b.price*cost*grains
	if b.parts > 0 {
		total = f.parts.total
	}
	level, _ := product(total, most+1).minus(uint128{lo: 1}).over(b.parts + b.slope*total)
	rest, _ := product(level%grains, f.bucket.Period).over(grains)
	return product(level/grains, f.bucket.Period).plus(uint128{lo: uint64(rest)})
}

// pool returns the number of units that all keys can owe together: the burst, and the queue of a fair pacer.
func (l *Limit) pool() int64 { return l.Burst + l.Queue }

// mostOfOne returns the largest number of units that a key can owe while no other key owes any.
func (l *Limit) mostOfOne() int64 {
	switch {
	case l.Algorithm.Holds():
		return l.mostHeld()
	case l.Nested:
		return innerRoom * l.Weight * l.pool() / ((innerRoom + 1) * (l.Weight + 1))
	}
	return l.Weight * l.pool() / (l.Weight + 1)
}

func (f *fair) room(l *Limit, _ Instant) int64 {
	free := l.pool()*grains - f.parts.level
	most := max(0, free) / grains
	bounds, n := f.bounds(l)
	for i := range bounds[:n] {
		b, least := &bounds[i], int64(0)
		if b.none {
			least = 1
		}
		left := b.slope*free - f.owed(b)
		most = min(most, max(least, left/(grains*b.price)))
	}
	return most
}

func (f *fair) charge(l *Limit, t Instant, cost, _ int64) (after int64) {
	m, p := cost*grains, &f.parts
	if p.level == 0 {
		p.total, p.of, p.at = 0, p.of[:0], -1
	}
	more := int64(firstParts)
	for p.total > 0 {
		if n := product(m, p.total).ceilOver(p.level); n < mostParts-p.total {
			more = n
			break
		}
		p.shift()
	}
	p.add(more)
	p.level += m
	return f.bucket.charge(l, t, cost, 0)
}

// shift scales all parts down by the same factor.
func (p *parts) shift() {
	p.total >>= partsShift
	for i := range p.of {
		p.of[i].parts >>= partsShift
	}
	p.of = slices.DeleteFunc(p.of, func(one part) bool { return one.parts == 0 })
	p.at = p.find(p.keyHash)
}

// add adds parts to the request's key and moves the key to the front of the list.
func (p *parts) add(more int64) {
	i := p.at
	one := part{key: p.keyHash, parts: more}
	switch {
	case i >= 0:
		one.parts += p.of[i].parts
	case len(p.of) < MaxShares:
		i, p.of = len(p.of), append(p.of, part{})
	default:
		i = MaxShares - 1
	}
	copy(p.of[1:], p.of[:i])
	p.of[0], p.at = one, 0
	p.total += more
}

func (f *fair) give(l *Limit, t Instant, n int64, charge *Held) {
	f.returned(func() { f.bucket.give(l, t, n, charge) })
}

// returned calls give, which gives units back to the bucket, and reduces the parts of the request's key accordingly.
func (f *fair) returned(give func()) {
	p := &f.parts
	before := p.level
	give()
	f.measure()
	i := p.at
	if i < 0 || p.level == 0 {
		return // a full bucket has no parts
	}
	less, _ := product(before-p.level, p.total).over(before)
	less = min(less, p.of[i].parts)
	p.total -= less
	if p.of[i].parts -= less; p.of[i].parts == 0 {
		p.of, p.at = slices.Delete(p.of, i, i+1), -1
	}
}

// report fills in the outcome. Remaining is the number of units that the request's key can take now.
func (f *fair) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.mostOfOne(), f.room(l, t), f.ttl(l, t)
}

// AllowFair decides an allow on the state of a fair share in place, like the function Allow. If the state belongs to
// another algorithm, the cost is below 1 or can never pass, or the clock was set back, ok is false and nothing has
// changed.
func (s *State) AllowFair(l *Limit, now, cost int64, keyHash uint64, o *Outcome) (allowed, ok bool) {
	if s.algorithm != l.Algorithm || cost < 1 || cost > l.mostOfOne() || now < s.bucket.At {
		return false, false
	}
	f, t := (*fair)(s), Instant{Now: now}
	f.settle(l, t)
	f.parts.ask(keyHash)
	if o.Wait, o.Window = f.wait(l, t, cost); o.Wait == 0 {
		o.After = f.charge(l, t, cost, 0)
	}
	f.report(l, t, o)
	return o.Wait == 0, true
}

func (f *fair) ttl(l *Limit, t Instant) int64 { return f.bucket.ttl(l, t) }

func (f *fair) append(to []byte) []byte {
	to = f.bucket.append(to)
	if f.extra == nil {
		return integers(to, 0, 0)
	}
	to = integers(to, f.parts.total, int64(len(f.parts.of)))
	for _, one := range f.parts.of {
		to = integers(to, int64(one.key), one.parts)
	}
	return to
}

func (f *fair) decode(d *decoder) {
	f.bucket.decode(d)
	p, sum := parts{total: d.natural()}, int64(0)
	for range d.count(2) {
		one := part{key: uint64(d.integer()), parts: d.positive()}
		sum += one.parts
		d.failed = d.failed || sum > p.total
		p.of = append(p.of, one)
	}
	if d.failed = d.failed || len(p.of) > MaxShares || p.total >= mostParts; p.total > 0 {
		f.extra = &extra{parts: p}
	}
}
