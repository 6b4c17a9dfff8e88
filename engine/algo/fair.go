package algo

import "slices"

// fairShare is a token bucket whose units are divided fairly among the keys that ask for them.
var fairShare = algorithm{
	name:   "fair-share",
	fields: []string{"burst", "weight", "name"},
	properties: properties{
		refills:      true,
		oneByOne:     true,
		burstIsCount: true, // as for a token bucket
		divides:      true,
		// Denials are not repeated, because a key passes earlier if others give units back. Units are not
		// prefetched, because the units that one key leaves are for all.
	},
	on: func(s *State) arithmetic { return (*fair)(s) },
	// A process does not know the keys of the others: a share is a bucket for all keys.
	shares: bucketShares,
	// Under two rates a key's part would refill at either.
	grid:  func(l *Limit) Grid { return Grid{Count: l.Count, Period: l.Period} },
	spare: func(s *State, l *Limit, _ Instant) int64 { return s.bucket.spare(l) },
	// Other keys may have nothing in the bucket.
	cover: func(l *Limit) (Limit, bool) {
		return Limit{Algorithm: TokenBucket, Count: l.Count, Period: l.Period, Burst: l.Burst}, true
	},
	mostCharged: func(l *Limit) int64 { return l.Burst },
	giveHeld: func(s *State, l *Limit, t Instant, n int64, h *Held) {
		(*fair)(s).returned(func() { s.bucket.giveHeld(l, t.Now, n, h) })
	},
}

// fair is the state of a fair-share limit: a bucket, which bounds all keys together, and what part of the missing
// units each key has. Parts are integers of no unit: a key with s of S parts has the fraction s/S of what is missing.
// So they need no change while the bucket refills. Units are counted in grains, because a share can be less than one.
type fair State

// parts are those of the keys that were charged last. total is theirs and those of keys that have left the list, which
// other keys have pushed out: these have no part any more, and begin again.
type parts struct {
	total int64
	of    []part // the key that was charged last is the first
}

type part struct {
	key   uint64
	parts int64
}

const (
	grains = 256 // of one unit
	// MaxShares is how many keys a fair-share limit tells apart at a time.
	MaxShares = 256
	// firstParts are those of the first key, and mostParts more than all may have: then all are divided by 2^8.
	firstParts = 1 << 20
	mostParts  = 1 << 32
	partsShift = 8
)

// level returns how many grains are missing, rounded up. It is not kept: a field would be in the states of all algorithms.
func (f *fair) level() int64 {
	m := f.bucket.Missing
	if m.hi == 0 && m.lo < 1<<55 {
		p := uint64(f.bucket.Period)
		return int64((m.lo*grains + p - 1) / p)
	}
	whole, rest := m.over(f.bucket.Period)
	return whole*grains + product(rest, grains).ceilOver(f.bucket.Period)
}

// own returns how many parts the request's key has.
func (f *fair) own() int64 {
	if i := f.find(); i >= 0 {
		return f.parts.of[i].parts
	}
	return 0
}

// find returns the place of the request's key, −1 if it has no part.
func (f *fair) find() int {
	if f.parts == nil {
		return -1
	}
	for i := range f.parts.of {
		if f.parts.of[i].key == f.whose {
			return i
		}
	}
	return -1
}

func (f *fair) behind(l *Limit, t Instant) (us int64, far bool) { return f.bucket.behind(l, t) }
func (f *fair) pull(l *Limit, t Instant)                        { f.bucket.pull(l, t) }
func (f *fair) settle(l *Limit, t Instant)                      { f.bucket.settle(l, t) }

// grainsOf returns how many grains of a level are the request's key's, rounded down.
func (f *fair) grainsOf(own, level int64) int64 {
	if own == 0 {
		return 0
	}
	held, _ := product(own, level).over(f.parts.total)
	return held
}

// wait lets a cost pass that is in the bucket, and that keeps the key's part with the cost at or below weight times what is then
// left. With D grains missing of B, a key with s of S parts, a cost of m and the weight w that is ⌊s·D/S⌋ + m ≤ w·(B − D − m).
// One unit passes a key without parts as long as it is there.
func (f *fair) wait(l *Limit, _ Instant, cost int64) (wait int64, window int) {
	if cost > l.mostOfOne() {
		return Never, 0
	}
	own, level, depth := f.own(), f.level(), product(l.Burst-cost, f.bucket.Period)
	fits := !depth.less(f.bucket.Missing)
	if own == 0 && cost == 1 || f.grainsOf(own, level)+cost*grains <= l.Weight*((l.Burst-cost)*grains-level) {
		if fits {
			return 0, 0
		}
	} else if fair := f.fairDepth(l, own, cost); fair.less(depth) {
		depth = fair
	}
	return f.bucket.Missing.minus(depth).ceilOver(f.bucket.Count), 0
}

// fairDepth returns the largest amount that may be missing for the cost to be within the key's share.
func (f *fair) fairDepth(l *Limit, own, cost int64) uint128 {
	total, left := int64(1), l.Weight*(l.Burst-cost)*grains-cost*grains
	if own > 0 {
		total = f.parts.total
	}
	level, _ := product(total, left+1).minus(uint128{lo: 1}).over(own + l.Weight*total)
	rest, _ := product(level%grains, f.bucket.Period).over(grains)
	return product(level/grains, f.bucket.Period).plus(uint128{lo: uint64(rest)})
}

// mostOfOne returns how many units one key can have while no other has any.
func (l *Limit) mostOfOne() int64 { return l.Weight * l.Burst / (l.Weight + 1) }

func (f *fair) room(l *Limit, _ Instant) int64 {
	own, level, least := f.own(), f.level(), int64(0)
	if level > (l.Burst-1)*grains {
		return 0
	}
	if own == 0 {
		least = 1
	}
	most := l.Weight*(l.Burst*grains-level) - f.grainsOf(own, level)
	return max(least, most/(grains*(l.Weight+1)))
}

func (f *fair) charge(l *Limit, t Instant, cost, _ int64) (after int64) {
	m, p, level := cost*grains, f.parts, f.level()
	if p == nil || level == 0 {
		p = &parts{}
		f.parts = p
	}
	more := int64(firstParts)
	for p.total > 0 {
		if n := product(m, p.total).ceilOver(level); n < mostParts-p.total {
			more = n
			break
		}
		p.shift()
	}
	f.add(more)
	return f.bucket.charge(l, t, cost, 0)
}

// shift makes all parts smaller, by the same factor.
func (p *parts) shift() {
	p.total >>= partsShift
	for i := range p.of {
		p.of[i].parts >>= partsShift
	}
	p.of = slices.DeleteFunc(p.of, func(one part) bool { return one.parts == 0 })
}

// add adds parts of the request's key, which becomes the first.
func (f *fair) add(more int64) {
	p, i := f.parts, f.find()
	one := part{key: f.whose, parts: more}
	switch {
	case i >= 0:
		one.parts += p.of[i].parts
	case len(p.of) < MaxShares:
		i, p.of = len(p.of), append(p.of, part{})
	default:
		i = MaxShares - 1
	}
	copy(p.of[1:], p.of[:i])
	p.of[0] = one
	p.total += more
}

func (f *fair) give(l *Limit, t Instant, n, taken int64) {
	f.returned(func() { f.bucket.give(l, t, n, taken) })
}

// returned takes from the request's key the part of what was given back.
func (f *fair) returned(give func()) {
	before := f.level()
	give()
	i, after := f.find(), f.level()
	if i < 0 || after == 0 {
		return // without anything missing nobody has a part
	}
	p := f.parts
	less, _ := product(before-after, p.total).over(before)
	less = min(less, p.of[i].parts)
	p.total -= less
	if p.of[i].parts -= less; p.of[i].parts == 0 {
		p.of = slices.Delete(p.of, i, i+1)
	}
}

// report has as remaining units those that the request's key can have now.
func (f *fair) report(l *Limit, t Instant, o *Outcome) {
	o.Limit, o.Remaining, o.Reset = l.mostOfOne(), f.room(l, t), f.ttl(l, t)
}

func (f *fair) ttl(l *Limit, t Instant) int64 { return f.bucket.ttl(l, t) }

func (f *fair) append(to []byte) []byte {
	to = f.bucket.append(to)
	if f.parts == nil {
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
	p, sum := &parts{total: d.natural()}, int64(0)
	for range d.count(2) {
		one := part{key: uint64(d.integer()), parts: d.positive()}
		sum += one.parts
		d.failed = d.failed || sum > p.total
		p.of = append(p.of, one)
	}
	if d.failed = d.failed || len(p.of) > MaxShares || p.total >= mostParts; p.total > 0 {
		f.parts = p
	}
}
