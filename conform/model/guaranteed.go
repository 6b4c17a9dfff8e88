package model

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// GuaranteedRate is the name of the algorithm.
const GuaranteedRate = "guaranteed-rate"

var _ = register(algorithm{
	names:  []string{GuaranteedRate},
	check:  Limit.checkGuaranteed,
	absent: func(l Limit, now int64) view { return newLoan(l, now) },
	grid: func(l Limit) string {
		return fmt.Sprint(l.Count, l.PeriodUS, l.Burst, l.Guarantees, l.LendDown)
	},
})

// Guarantee is one class's guarantee: its rate, the capacity of its own bucket, and its maximum rate.
type Guarantee struct {
	Rate    int64 `json:"rate"`
	Burst   int64 `json:"burst,omitempty"`
	Ceiling int64 `json:"ceiling,omitempty"`
}

// loan is the state of a guaranteed rate (section 3d): the amounts missing from the shared bucket, from each class's
// own bucket, and from each ceiling's bucket, in 1/PeriodUS unit.
type loan struct {
	limit       Limit
	ts, behind  int64
	shared      *big.Int
	own, capped []*big.Int
}

func newLoan(l Limit, now int64) *loan {
	none := slices.Repeat([]*big.Int{num(0)}, len(l.Guarantees))
	return &loan{limit: l, ts: now, shared: num(0), own: none, capped: slices.Clone(none)}
}

func (o *loan) amount(units int64) *big.Int { return mul(num(units), num(o.limit.PeriodUS)) }

// sharedUnits returns the capacity of the shared bucket: the burst minus the classes' own bursts.
func (l Limit) sharedUnits() int64 {
	units := l.Burst
	for _, g := range l.Guarantees {
		units -= g.Burst
	}
	return units
}

// ceilingUnits returns the capacity of a ceiling's bucket: the class's own capacity, plus the portion of the burst that
// corresponds to the rate that the class may borrow.
func (l Limit) ceilingUnits(g Guarantee) int64 {
	return g.Burst + ceilDiv(mul(num(l.Burst), num(g.Ceiling-g.Rate)), num(l.Count)).Int64()
}

func (o *loan) class() Guarantee { return o.limit.Guarantees[o.limit.Rank-1] }

// flow is the state of a loan while time passes and nothing is charged. All rates are constant until the next bucket is
// fully refilled.
type flow struct {
	*loan

	shared *big.Rat
	own    []*big.Rat
	us     *big.Rat // time since the start of the flow
}

func (o *loan) flow() *flow {
	f := &flow{loan: o, shared: new(big.Rat).SetInt(o.shared), us: new(big.Rat)}
	for _, a := range o.own {
		f.own = append(f.own, new(big.Rat).SetInt(a))
	}
	return f
}

// rates returns the refill of the shared bucket and of each class's own bucket, in 1/PeriodUS unit per µs. A fully
// refilled bucket passes its rate on.
func (f *flow) rates() (shared int64, own []int64) {
	shared, carried := f.limit.Count, int64(0)
	for i, g := range f.limit.Guarantees {
		shared -= g.Rate
		in := g.Rate
		if f.limit.LendDown {
			in, carried = in+carried, 0
		}
		if f.own[i].Sign() == 0 {
			carried, in = carried+in, 0
		}
		own = append(own, in)
	}
	return shared + carried, own
}

// next returns how long the rates stay constant. It returns nil if nothing is missing.
func (f *flow) next() *big.Rat {
	shared, own := f.rates()
	var soonest *big.Rat
	until := func(missing *big.Rat, rate int64) {
		if missing.Sign() == 0 || rate == 0 {
			return
		}
		if us := new(big.Rat).Quo(missing, new(big.Rat).SetInt64(rate)); soonest == nil || us.Cmp(soonest) < 0 {
			soonest = us
		}
	}
	until(f.shared, shared)
	for i := range own {
		until(f.own[i], own[i])
	}
	// While the shared bucket is overdrawn, it serves no class. The end of the overdraft therefore also changes how
	// fast the available amount grows.
	full := new(big.Rat).SetInt(f.amount(f.limit.sharedUnits()))
	if over := new(big.Rat).Sub(f.shared, full); over.Sign() > 0 {
		until(over, shared)
	}
	return soonest
}

// pass lets time pass, at most until the rates change.
func (f *flow) pass(us *big.Rat) {
	shared, own := f.rates()
	less := func(missing *big.Rat, rate int64) *big.Rat {
		left := new(big.Rat).Sub(missing, new(big.Rat).Mul(us, new(big.Rat).SetInt64(rate)))
		if left.Sign() < 0 {
			left = new(big.Rat)
		}
		return left
	}
	f.shared = less(f.shared, shared)
	for i := range own {
		f.own[i] = less(f.own[i], own[i])
	}
	f.us = new(big.Rat).Add(f.us, us)
}

// has returns the amount available to the limit's class: in its own bucket and, unless it is overdrawn, in the shared
// bucket.
func (f *flow) has() *big.Rat {
	own := new(big.Rat).Sub(new(big.Rat).SetInt(f.amount(f.class().Burst)), f.own[f.limit.Rank-1])
	shared := new(big.Rat).Sub(new(big.Rat).SetInt(f.amount(f.limit.sharedUnits())), f.shared)
	if shared.Sign() < 0 {
		return own
	}
	return own.Add(own, shared)
}

func (o *loan) at(l Limit, now int64) view {
	v := *o
	v.limit, v.behind = l, 0
	switch {
	case o.gone():
		return newLoan(l, now)
	case o.far(l, now):
		v.ts = now
	case now < o.ts:
		v.behind = o.ts - now
	}
	if now <= v.ts {
		return &v
	}
	f, left := v.flow(), new(big.Rat).SetInt64(now-o.ts)
	for next := f.next(); next != nil && next.Cmp(left) < 0; next = f.next() {
		f.pass(next)
		left.Sub(left, next)
	}
	f.pass(left)
	v.ts, v.shared, v.own, v.capped = now, f.shared.Num(), nil, nil
	for i, g := range l.Guarantees {
		v.own = append(v.own, f.own[i].Num())
		v.capped = append(v.capped, larger(num(0), sub(o.capped[i], mul(num(now-o.ts), num(g.Ceiling)))))
	}
	return &v
}

func (o *loan) far(l Limit, now int64) bool {
	empty := newLoan(l, now)
	empty.shared = empty.amount(l.sharedUnits())
	for i, g := range l.Guarantees {
		if empty.own[i] = empty.amount(g.Burst); g.Ceiling > 0 {
			empty.capped[i] = empty.amount(l.ceilingUnits(g))
		}
	}
	stored := *o
	stored.limit = l
	return o.ts-now > max(empty.full(), stored.full())
}

func (o *loan) moved(l Limit, now int64) (view, bool) {
	v := *o
	v.limit, v.ts = l, now
	return &v, !o.gone() && o.far(l, now)
}

func (o *loan) gone() bool {
	missing := func(a *big.Int) bool { return a.Sign() > 0 }
	return o.shared.Sign() == 0 && !slices.ContainsFunc(o.own, missing) && !slices.ContainsFunc(o.capped, missing)
}

// full returns the time in µs until nothing is missing from any bucket, if nothing is charged.
func (o *loan) full() int64 {
	f := o.flow()
	for next := f.next(); next != nil; next = f.next() {
		f.pass(next)
	}
	us := ceilRat(f.us)
	for i, g := range o.limit.Guarantees {
		if o.capped[i].Sign() > 0 {
			us = max(us, ceilDiv(o.capped[i], num(g.Ceiling)).Int64())
		}
	}
	return us
}

func ceilRat(r *big.Rat) int64 { return ceilDiv(r.Num(), r.Denom()).Int64() }

func (o *loan) largest() int64 {
	own := o.class()
	units := own.Burst + o.limit.sharedUnits()
	if own.Ceiling > 0 {
		units = min(units, o.limit.ceilingUnits(own))
	}
	return units
}

func (o *loan) admits(c int64) bool {
	own := o.class()
	under := own.Ceiling == 0 || add(o.capped[o.limit.Rank-1], o.amount(c)).Cmp(o.amount(o.limit.ceilingUnits(own))) <= 0
	return under && o.flow().has().Cmp(new(big.Rat).SetInt(o.amount(c))) >= 0
}

func (o *loan) most() int64 {
	own := o.class()
	units := floorDiv(o.flow().has().Num(), num(o.limit.PeriodUS)).Int64()
	if own.Ceiling > 0 {
		units = min(units, floorDiv(sub(o.amount(o.limit.ceilingUnits(own)), o.capped[o.limit.Rank-1]), num(o.limit.PeriodUS)).Int64())
	}
	return max(0, units)
}

// wait returns the time until enough is available to the class for c units and its ceiling allows them, if nothing else
// is charged.
func (o *loan) wait(c int64) int64 {
	own, us, price := o.class(), int64(0), new(big.Rat).SetInt(o.amount(c))
	if own.Ceiling > 0 {
		over := sub(add(o.capped[o.limit.Rank-1], o.amount(c)), o.amount(o.limit.ceilingUnits(own)))
		us = max(0, ceilDiv(over, num(own.Ceiling)).Int64())
	}
	f := o.flow()
	for {
		before, begun, stage := f.has(), f.us, f.next()
		if before.Cmp(price) >= 0 {
			return max(us, ceilRat(begun))
		}
		f.pass(stage)
		if gained := new(big.Rat).Sub(f.has(), before); f.has().Cmp(price) >= 0 {
			part := new(big.Rat).Quo(new(big.Rat).Sub(price, before), gained)
			return max(us, ceilRat(begun.Add(begun, part.Mul(part, stage))))
		}
	}
}

func (o *loan) rows(c int64) []row {
	r := row{limit: o.largest(), remaining: o.most(), reset: o.full()}
	if r.reset > 0 {
		r.reset += o.behind
	}
	switch {
	case c == 0 || o.admits(c):
	case c > o.largest():
		r.wait = never
	default:
		r.wait = o.wait(c) + o.behind
	}
	return []row{r}
}

func (o *loan) delay(int64) int64 { return 0 }
func (o *loan) deny(_, _ int64)   {}
func (o *loan) place() int64      { return o.ts }

// spend takes units from the class's own bucket first.
func (o *loan) spend(c int64) {
	i, price := o.limit.Rank-1, o.amount(c)
	o.own, o.capped = slices.Clone(o.own), slices.Clone(o.capped)
	first := smaller(price, sub(o.amount(o.class().Burst), o.own[i]))
	o.own[i], o.shared = add(o.own[i], first), add(o.shared, sub(price, first))
	if o.class().Ceiling > 0 {
		o.capped[i] = add(o.capped[i], price)
	}
}

func (o *loan) give(n int64) { o.back(o.amount(n), o.amount(n)) }

// back gives an amount back, first to the class's own bucket, and another amount (capped) to its ceiling's bucket.
func (o *loan) back(amount, capped *big.Int) {
	i := o.limit.Rank - 1
	o.own, o.capped = slices.Clone(o.own), slices.Clone(o.capped)
	first := smaller(amount, o.own[i])
	o.own[i], o.shared = sub(o.own[i], first), larger(num(0), sub(o.shared, sub(amount, first)))
	o.capped[i] = larger(num(0), sub(o.capped[i], capped))
}

// giveBack gives back no more of the charge than would still be missing if the charge were refilled before everything
// else.
func (o *loan) giveBack(n int64, h held, r returns) returns {
	left := func(rate int64) *big.Int {
		missing := sub(o.amount(h.units), mul(num(max(0, o.ts-h.taken)), num(rate)))
		return larger(num(0), smaller(o.amount(n), missing))
	}
	o.back(left(o.limit.Count), left(o.class().Ceiling))
	return r
}

// spare returns the number of units that a settlement can add. It is bounded by the units that can become available
// to the class, and by the class's ceiling.
func (o *loan) spare() int64 {
	i, own := o.limit.Rank-1, o.class()
	left := sub(sub(o.amount(o.largest()+own.Burst+o.limit.sharedUnits()), o.own[i]), o.shared)
	if own.Ceiling > 0 {
		left = smaller(left, sub(o.amount(2*o.limit.ceilingUnits(own)), o.capped[i]))
	}
	return bounded(floorDiv(left, num(o.limit.PeriodUS)))
}

func (l Limit) checkGuaranteed() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.Burst, 1, MaxUnits),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		within("classes", int64(len(l.Guarantees)), 2, 8),
		within("rank", l.Rank, 1, int64(len(l.Guarantees))),
		l.noCountDenied(),
	)
	divisor, sum := new(big.Int).GCD(nil, nil, num(l.Count), num(l.PeriodUS)), int64(0)
	for _, g := range l.Guarantees {
		err = errors.Join(err, within("rate", g.Rate, 0, l.Count), within("own burst", g.Burst, min(1, g.Rate), l.Burst*min(1, g.Rate)))
		if g.Ceiling != 0 {
			err = errors.Join(err, within("ceiling", g.Ceiling, max(1, g.Rate), l.Count))
		}
		sum += g.Rate
		for _, rate := range []int64{g.Rate, g.Ceiling} {
			if rate > 0 {
				divisor.GCD(nil, nil, divisor, num(rate))
			}
		}
	}
	err = errors.Join(err, within("guarantees", sum, 0, l.Count), within("shared burst", l.sharedUnits(), 1, l.Burst))
	if err != nil {
		return err
	}
	return within("burst", l.Burst, 1, MaxPeriodUS/2/(l.PeriodUS/divisor.Int64()))
}
