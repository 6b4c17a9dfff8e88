package model

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sort"
)

// The names of the algorithms that divide a bucket, or a pacer's queue.
const (
	FairShare = "fair-share"
	FairPacer = "fair-pacer"
)

var (
	_ = register(dividing(FairShare))
	_ = register(dividing(FairPacer))
)

// FairFields are the fields of limits that divide their units among keys.
type FairFields struct {
	Weight int64 `json:"weight,omitempty"`
	Nested bool  `json:"nested,omitempty"`
}

func dividing(name string) algorithm {
	return algorithm{
		names:  []string{name},
		check:  Limit.checkFairShare,
		absent: func(l Limit, now int64) view { return newPool(newBucket(l, now), nil) },
		grid: func(l Limit) string {
			count, period := l.rate()
			return fmt.Sprintf("%v/%v", count, period)
		},
		shared: true,
	}
}

// pool is the state of a fair share or a fair pacer (section 3b): one bucket for all keys, and a list of the keys that owe the
// bucket's missing units.
type pool struct {
	*bucket

	of    []owned // most recently charged key first
	total *big.Int
}

type owned struct {
	owner
	parts *big.Int
}

// owner is a key with its group. If there are no groups, each key is its own group.
type owner struct{ group, key string }

func (l Limit) owner() owner {
	if l.Nested {
		return owner{groupOf(l.Key), l.Key}
	}
	return owner{l.Key, l.Key}
}

var (
	grains    = num(256)
	mostParts = num(1 << 32)
)

func newPool(b *bucket, of *pool) *pool {
	p := &pool{bucket: b, total: num(0)}
	if of != nil && b.d.Sign() > 0 {
		p.of, p.total = slices.Clone(of.of), of.total
	}
	return p
}

func (p *pool) at(l Limit, now int64) view {
	return newPool(p.bucket.at(l, now).(*bucket), p) //nolint:forcetypeassert // a bucket's view is always a bucket
}

func (p *pool) moved(l Limit, now int64) (view, bool) {
	v, ok := p.bucket.moved(l, now)
	return newPool(v.(*bucket), p), ok //nolint:forcetypeassert // a bucket's view is always a bucket
}

// inGrains returns an amount in grains, rounded up.
func (p *pool) inGrains(amount *big.Int) *big.Int { return ceilDiv(mul(amount, grains), p.p) }

func (p *pool) find() int {
	return slices.IndexFunc(p.of, func(o owned) bool { return o.owner == p.limit.owner() })
}

// passes reports whether a cost passes if d is missing from the bucket.
func (p *pool) passes(c int64, d *big.Int) bool {
	switch {
	case less(sub(p.cap(), d), p.tokens(c)):
		return false
	case d.Sign() == 0:
		return c <= p.largest()
	}
	key := func(o owned) bool { return o.owner == p.limit.owner() }
	if !p.limit.Nested {
		return p.within(c, d, key)
	}
	group := func(o owned) bool { return o.group == groupOf(p.limit.Key) }
	return p.within(c, d, group) && p.withinGroup(c, d, p.parts(key), p.parts(group))
}

// parts returns the sum of the selected keys' parts.
func (p *pool) parts(of func(owned) bool) *big.Int {
	sum := num(0)
	for _, o := range p.of {
		if of(o) {
			sum = add(sum, o.parts)
		}
	}
	return sum
}

// within reports whether the selected keys may together owe the cost in addition. The amount that they then owe must be
// at most w times the amount that is then left. Their first unit is always allowed.
func (p *pool) within(c int64, d *big.Int, of func(owned) bool) bool {
	missing, cost, own := p.inGrains(d), mul(num(c), grains), num(0)
	switch parts := p.parts(of); {
	case parts.Sign() > 0 && d.Sign() > 0:
		own = floorDiv(mul(parts, missing), p.total)
	case c == 1:
		return true
	}
	left := sub(sub(mul(num(p.limit.pooled()), grains), missing), cost)
	return add(own, cost).Cmp(mul(num(p.limit.weight()), left)) <= 0
}

// withinGroup reports whether a key owes at most 8 times its group's room. The key's first unit is always
// within. The room is (w·(256·B − D) − owed by the group)/(w + 1) − m. Both sides are multiplied by w + 1, so that only
// one rounding is needed.
func (p *pool) withinGroup(c int64, d, own, group *big.Int) bool {
	if c == 1 && own.Sign() == 0 {
		return true
	}
	w, missing, cost, owed := num(p.limit.weight()), p.inGrains(d), mul(num(c), grains), num(0)
	if group.Sign() > 0 && d.Sign() > 0 {
		owed = floorDiv(mul(add(mul(add(w, num(1)), own), mul(num(8), group)), missing), p.total)
	}
	room := mul(mul(num(8), w), sub(mul(num(p.limit.pooled()), grains), missing))
	return add(owed, mul(mul(num(9), add(w, num(1))), cost)).Cmp(room) <= 0
}

// groupOf returns the part of a key before the first colon that is not escaped with a backslash.
func groupOf(key string) string {
	for i := 0; i < len(key); i++ {
		switch key[i] {
		case '\\':
			i++
		case ':':
			return key[:i]
		}
	}
	return key
}

// pooled returns the number of units that all keys can owe together.
func (l Limit) pooled() int64 {
	if l.MaxQueue != nil {
		return l.Burst + *l.MaxQueue
	}
	return l.Burst
}

func (l Limit) weight() int64 { return max(1, l.Weight) }

func (p *pool) admits(c int64) bool { return p.passes(c, p.d) }

// largest returns the maximum number of units that a key can take if it is the only key: c ≤ w·(B − c) or, with groups,
// 9·(w + 1)·c ≤ 8·w·B.
func (p *pool) largest() int64 {
	w := p.limit.weight()
	if p.limit.Nested {
		return floorDiv(mul(num(8*w), num(p.limit.pooled())), num(9*(w+1))).Int64()
	}
	return floorDiv(mul(num(w), num(p.limit.pooled())), num(w+1)).Int64()
}

func (p *pool) most() int64 {
	return int64(sort.Search(int(p.limit.pooled()), func(i int) bool { return !p.admits(int64(i) + 1) }))
}

func (p *pool) rows(c int64) []row {
	r := row{limit: p.largest(), remaining: p.most(), reset: p.until((*bucket).full)}
	switch {
	case c == 0 || p.admits(c):
	case c > p.largest():
		r.wait = never
	default: // found by trial
		r.wait = p.behind + int64(sort.Search(int(ceilDiv(p.d, p.l).Int64()), func(us int) bool {
			return p.passes(c, larger(num(0), sub(p.d, mul(num(int64(us)), p.l))))
		}))
	}
	return []row{r}
}

func (p *pool) spend(c int64) {
	missing, cost, more := p.inGrains(p.d), mul(num(c), grains), num(1<<20)
	if p.d.Sign() == 0 {
		p.of, p.total = nil, num(0)
	}
	for p.total.Sign() > 0 {
		if n := ceilDiv(mul(cost, p.total), missing); less(add(n, p.total), mostParts) {
			more = n
			break
		}
		p.shrink()
	}
	if i := p.find(); i >= 0 {
		more, p.total = add(more, p.of[i].parts), sub(p.total, p.of[i].parts)
		p.of = slices.Delete(slices.Clone(p.of), i, i+1)
	}
	p.of = slices.Concat([]owned{{p.limit.owner(), more}}, p.of)
	p.of = p.of[:min(len(p.of), 256)]
	p.total = add(p.total, more)
	p.bucket.spend(c)
}

func (p *pool) shrink() {
	p.total = floorDiv(p.total, grains)
	var kept []owned
	for _, o := range p.of {
		if o.parts = floorDiv(o.parts, grains); o.parts.Sign() > 0 {
			kept = append(kept, o)
		}
	}
	p.of = kept
}

func (p *pool) give(n int64) { p.back(func() { p.bucket.give(n) }) }

func (p *pool) giveBack(n int64, h held, r returns) returns {
	p.back(func() { r = p.bucket.giveBack(n, h, r) })
	return r
}

// back calls give, which gives units back to the bucket, and reduces the key's parts in proportion.
func (p *pool) back(give func()) {
	before := p.inGrains(p.d)
	give()
	i, after := p.find(), p.inGrains(p.d)
	if i < 0 || after.Sign() == 0 {
		return
	}
	n := smaller(p.of[i].parts, floorDiv(mul(sub(before, after), p.total), before))
	p.total = sub(p.total, n)
	p.of = slices.Clone(p.of)
	if p.of[i].parts = sub(p.of[i].parts, n); p.of[i].parts.Sign() == 0 {
		p.of = slices.Delete(p.of, i, i+1)
	}
}

func (p *pool) spare() int64 { return bounded(floorDiv(sub(add(p.cap(), p.full()), p.d), p.p)) }

func (l Limit) checkFairShare() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.pooled(), 10, map[bool]int64{false: 1 << 36, true: 1 << 35}[l.Nested]),
		within("weight", l.weight(), 1, 100),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		l.noCountDenied(),
	)
	switch {
	case err != nil:
		return err
	case l.Algorithm == FairPacer && (l.MaxQueue == nil || *l.MaxQueue < 1):
		return errors.New("model: a fair pacer needs max_queue")
	}
	return l.checkBucket()
}
