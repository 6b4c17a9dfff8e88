package model

import (
	"errors"
	"fmt"
	"math/big"
	"sort"
)

// WarmUp is the name of the algorithm.
const WarmUp = "warm-up"

var _ = register(algorithm{
	names:  []string{WarmUp},
	check:  Limit.checkWarmUp,
	absent: func(l Limit, now int64) view { return newWarmup(l, now) },
	grid: func(l Limit) string {
		count, period := l.rate()
		return fmt.Sprint(count, period, l.WarmUpUS)
	},
})

// WarmUpFields are the fields of warm-ups.
type WarmUpFields struct {
	WarmUpUS int64 `json:"warm_up_us,omitempty"`
}

// warmup is the state of a warm-up limit (section 8): a bucket whose tokens refill along the trapezoid of Guava's
// SmoothWarmingUp. It stores the number of units that have passed since it was cold, and the price of the missing
// tokens in units of 1/P token.
type warmup struct {
	limit  Limit
	l, p   *big.Int
	owed   *big.Int
	units  int64
	ts     int64 // time of the last change, or when the debt reached 0
	now    int64
	behind int64
}

func newWarmup(l Limit, now int64) *warmup {
	w := &warmup{limit: l, owed: num(0), ts: now, now: now}
	w.l, w.p = l.rate()
	return w
}

// ramp returns the number of units that make a cold limit warm: half the units that the rate allows in the warm-up
// time, because the mean price on the ramp is two tokens.
func (l Limit) ramp() int64 {
	count, period := l.rate()
	return smaller(num(never), floorDiv(mul(num(l.WarmUpUS), count), mul(num(2), period))).Int64()
}

// cost returns the price of n units after the cold state, rounded up. It is the area under a price that falls from 3
// tokens to 1 along the ramp, and then stays at 1. Before the cold state the price is 3.
func (w *warmup) cost(n int64) *big.Int {
	ramp := w.limit.ramp()
	if n < 0 {
		return mul(num(3*n), w.p)
	}
	on := min(n, ramp)
	heights := sub(mul(num(6*ramp), w.p), mul(num(2*on), w.p)) // first and last price, times ramp
	return add(ceilDiv(mul(num(on), heights), num(2*ramp)), mul(num(n-on), w.p))
}

func (w *warmup) between(from, to int64) *big.Int { return sub(w.cost(to), w.cost(from)) }

func (w *warmup) at(l Limit, now int64) view {
	v := *w
	v.limit, v.now, v.behind = l, now, 0
	if w.owed.Sign() == 0 { // even if a give has paid for the last unit and the clock is behind
		v.units = min(w.units, 2*l.ramp())
	}
	if now < w.ts {
		if _, far := w.moved(l, now); far {
			v.ts = now
			return &v
		}
		v.behind, v.now = w.ts-now, w.ts
		return &v
	}
	full := w.ts + ceilDiv(w.owed, w.l).Int64()
	if now < full {
		v.owed, v.ts = sub(w.owed, mul(num(now-w.ts), w.l)), now
		return &v
	}
	v.owed, v.ts, v.units = num(0), full, min(w.units, 2*l.ramp())
	if v.warm() == 0 {
		return newWarmup(l, now)
	}
	return &v
}

func (w *warmup) moved(l Limit, now int64) (view, bool) {
	longest := larger(ceilDiv(w.cost(l.Burst), w.l), ceilDiv(w.owed, w.l))
	if w.gone() || w.ts <= now || num(w.ts-now).Cmp(longest) <= 0 {
		return w, false
	}
	c := *w
	c.ts, c.now = now, now
	return &c, true
}

// warm returns the number of units by which the limit is warm now. A limit that has been idle for at most a quarter of
// the warm-up time has not cooled. After that, it has lost the units that refilled in the whole idle time.
func (w *warmup) warm() int64 {
	idle := w.now - w.ts
	if w.owed.Sign() > 0 || 4*idle <= w.limit.WarmUpUS {
		return w.units
	}
	return larger(num(0), sub(num(w.units), ceilDiv(mul(num(idle), w.l), w.p))).Int64()
}

func (w *warmup) gone() bool { return w.owed.Sign() == 0 && w.warm() == 0 }

// most returns the largest cost that passes. Unless the next request pays, it is the same as remaining.
func (w *warmup) most() int64 {
	if !w.limit.NextPays {
		return w.remaining()
	}
	if !w.admits(1) {
		return 0
	}
	return w.largest()
}

func (w *warmup) largest() int64 { return (&bucket{limit: w.limit}).largest() }

// may returns the largest price, in 1/P token, that can be owed when c units still pass.
func (w *warmup) may(c int64) *big.Int {
	v := w.warm()
	if w.limit.NextPays {
		c = 0
	}
	return w.between(v+c-w.limit.Burst, v)
}

func (w *warmup) admits(c int64) bool {
	if w.limit.NextPays && c > w.largest() || !w.limit.NextPays && c > w.limit.Burst {
		return false
	}
	return w.owed.Cmp(w.may(c)) <= 0
}

// remaining returns the number of units that pass now. It is found by trial: if a cost passes, every lower cost passes
// too.
func (w *warmup) remaining() int64 {
	v := w.warm()
	return int64(sort.Search(int(w.limit.Burst), func(i int) bool {
		return w.owed.Cmp(w.between(v+int64(i)+1-w.limit.Burst, v)) > 0
	}))
}

func (w *warmup) rows(c int64) []row {
	r := row{limit: w.limit.Burst, remaining: w.remaining(), reset: w.until(w.owed)}
	switch {
	case c == 0 || w.admits(c):
	case w.limit.NextPays && c > w.largest() || !w.limit.NextPays && c > w.limit.Burst:
		r.wait = never
	default:
		r.wait = w.until(sub(w.owed, w.may(c)))
	}
	return []row{r}
}

func (w *warmup) until(amount *big.Int) int64 {
	if amount.Sign() <= 0 {
		return 0
	}
	return ceilDiv(amount, w.l).Int64() + w.behind
}

func (w *warmup) delay(int64) int64 { return 0 }

func (w *warmup) spend(c int64) {
	v := w.warm()
	w.owed, w.units, w.ts = add(w.owed, w.between(v, v+c)), v+c, w.now
}

func (w *warmup) deny(_, _ int64) {}

func (w *warmup) give(n int64) {
	if w.owed.Sign() == 0 {
		return
	}
	n = min(n, w.units)
	w.owed = larger(num(0), sub(w.owed, w.between(w.units-n, w.units)))
	w.units -= n
}

func (w *warmup) place() int64 { return w.now }

// giveBack gives back n units of a reservation, except for the units that have refilled, counted backwards from the end
// of the reservation.
func (w *warmup) giveBack(n int64, h held, r returns) returns {
	if w.now >= h.ends || w.owed.Sign() == 0 {
		return r
	}
	r = r.live(w.p, w.now)
	left := larger(num(0), sub(mul(num(h.ends-w.now), w.l), r.before(h)))
	rest, after := smaller(w.owed, left), larger(num(0), sub(w.owed, left))
	later := int64(sort.Search(int(w.units), func(i int) bool {
		return w.between(w.units-int64(i)-1, w.units).Cmp(after) > 0
	}))
	v := w.units - later
	n = min(n, v)
	owed := w.owed
	w.give(int64(sort.Search(int(n), func(i int) bool {
		return w.between(v-int64(i)-1, v).Cmp(rest) > 0
	})))
	one := returned{from: h, until: w.now, ends: w.now + ceilDiv(owed, w.l).Int64(), sum: sub(owed, w.owed)}
	if ordered := w.l.Cmp(w.p) <= 0; one.sum.Sign() > 0 && (!ordered || after.Sign() > 0) {
		return r.with(one, ordered)
	}
	return r
}

func (l Limit) checkWarmUp() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.Burst, 1, MaxUnits),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		within("warm_up_us", l.WarmUpUS, MinPeriodUS, MaxPeriodUS),
		l.noCountDenied(),
	)
	if err == nil {
		err = within("ramp", l.ramp(), 1, MaxUnits)
	}
	if err != nil {
		return err
	}
	w := newWarmup(l, 0)
	if refill := ceilDiv(w.cost(l.Burst), w.l); refill.Cmp(num(MaxPeriodUS)) > 0 {
		return fmt.Errorf("model: a full refill takes %v µs", refill)
	}
	return nil
}
