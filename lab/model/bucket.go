package model

import (
	"errors"
	"fmt"
	"math/big"
	"sort"
)

// The first four names are names of one algorithm, the token bucket (section 2).
const (
	TokenBucket = "token-bucket"
	GCRA        = "gcra"
	LeakyBucket = "leaky-bucket"
	Funnel      = "funnel"
	Pacer       = "pacer"
)

var _ = register(algorithm{
	names:  []string{TokenBucket, GCRA, LeakyBucket, Funnel},
	check:  Limit.checkBucket,
	absent: func(l Limit, now int64) view { return newBucket(l, now) },
})

var _ = register(algorithm{
	names:  []string{Pacer},
	check:  Limit.checkBucket,
	absent: func(l Limit, now int64) view { return newBucket(l, now) },
	grid: func(l Limit) string {
		count, period := l.rate()
		return fmt.Sprintf("%v/%v", count, period)
	},
})

// BucketFields are the fields of token buckets and pacers. Debt is the maximum debt. A pacer sets at least one of MaxQueue
// and MaxWaitUS, where 0 counts as set.
type BucketFields struct {
	Debt      int64  `json:"debt,omitempty"`
	MaxQueue  *int64 `json:"max_queue,omitempty"`
	MaxWaitUS *int64 `json:"max_wait_us,omitempty"`
}

// bucket is a token bucket (section 2) or a pacer (section 3).
//
// Amounts are in units of 1/P token, so that exactly L refill in one µs. The state stores d = full − a, which is the
// spent amount that has not been refilled yet (rule 10).
type bucket struct {
	limit  Limit    // the call's limit: capacity, debt, queue
	l, p   *big.Int // the active rate, divided by the greatest common divisor
	d      *big.Int
	ts     int64
	behind int64 // by how much ts is later than the time of the call
	// promised is the time from ts until the last caller with a reserved slot continues. Until then the active rate is
	// the state's, because the slots were computed with it. From then on it is the fastest rate of all charges since.
	promised     int64
	nextL, nextP *big.Int
	lent         int64 // the delay of the reservation that is being charged
}

func newBucket(l Limit, now int64) *bucket {
	b := &bucket{limit: l, d: num(0), ts: now}
	b.l, b.p = l.rate()
	return b
}

// at brings the state to the time of a call. The active rate is the faster of two rates: the rate that was active when
// the state was written, and the call's rate (rule 10).
func (b *bucket) at(l Limit, now int64) view {
	v := newBucket(l, now)
	if b.d.Sign() == 0 { // rule 7: with nothing missing, the state is the same as no state, whatever ts is
		return v
	}
	if b.promised > 0 && now-b.ts >= b.promised {
		slots := *b // at the last slot, the faster rate becomes active
		slots.d = larger(num(0), sub(b.d, mul(num(b.promised), b.l)))
		slots.d, slots.l, slots.p = converted(slots.d, b.p, b.nextP), b.nextL, b.nextP
		slots.ts, slots.promised = b.ts+b.promised, 0
		return slots.at(l, now)
	}
	if own, stored := mul(v.l, b.p), mul(b.l, v.p); b.promised == 0 && less(stored, own) {
		v.d = converted(b.d, b.p, v.p)
	} else {
		v.l, v.p, v.d = b.l, b.p, b.d
	}
	v.promised, v.nextL, v.nextP = b.promised, b.nextL, b.nextP
	if own := newBucket(l, now); v.promised > 0 && less(mul(v.nextL, own.p), mul(own.l, v.nextP)) {
		v.nextL, v.nextP = own.l, own.p
	}
	switch behind := b.ts - now; {
	case behind <= 0:
		v.d = larger(num(0), sub(v.d, mul(num(-behind), v.l)))
		if v.promised = max(0, v.promised+behind); v.d.Sign() == 0 {
			return newBucket(l, now)
		}
	case num(behind).Cmp(v.span()) <= 0: // rule 8
		v.behind, v.ts = behind, b.ts
	}
	return v
}

// moved returns the state to store after the clock was set back far (rule 8).
func (b *bucket) moved(l Limit, now int64) (view, bool) {
	found, _ := b.at(l, now).(*bucket)
	if b.ts <= now || found.behind > 0 || b.d.Sign() == 0 {
		return b, false
	}
	c := *b
	c.ts = now
	return &c, true
}

// converted converts an amount from units of 1/from token to units of 1/to token. Whole tokens are converted exactly,
// and the fraction is rounded against the caller.
func converted(d, from, to *big.Int) *big.Int {
	tokens := floorDiv(d, from)
	return add(mul(tokens, to), ceilDiv(mul(sub(d, mul(tokens, from)), to), from))
}

// gone reports whether the state is equivalent to no state.
func (b *bucket) gone() bool { return b.d.Sign() == 0 }

func (b *bucket) tokens(n int64) *big.Int { return mul(num(n), b.p) }

func (b *bucket) full() *big.Int { return b.tokens(b.limit.Burst) }

func (b *bucket) amount() *big.Int { return sub(b.full(), b.d) }

// cap returns the maximum value of d: the capacity plus the amount that may be queued or owed.
func (b *bucket) cap() *big.Int {
	switch b.limit.Algorithm {
	case Pacer:
	case FairPacer:
		return b.tokens(b.limit.pooled())
	default:
		return add(b.full(), b.tokens(b.limit.Debt))
	}
	return sub(b.full(), b.need(0))
}

// need returns the amount that must be available for c units to pass.
func (b *bucket) need(c int64) *big.Int {
	if b.limit.NextPays {
		c = 0 // the next request pays
	}
	if b.limit.NextPays && b.limit.Algorithm != Pacer {
		return num(0)
	}
	if b.limit.Algorithm != Pacer {
		return larger(num(1), b.tokens(c-b.limit.Debt))
	}
	// ⌈(c·P−a)/L⌉ ≤ MaxWait holds exactly if c·P−a ≤ MaxWait·L.
	var need *big.Int
	if q := b.limit.MaxQueue; q != nil {
		need = b.tokens(c - *q)
	}
	if w := b.limit.MaxWaitUS; w != nil {
		byWait := sub(b.tokens(c), mul(num(*w), b.l))
		if need == nil || less(need, byWait) {
			need = byWait
		}
	}
	return need
}

func (b *bucket) admits(c int64) bool { return c <= b.largest() && !less(b.amount(), b.need(c)) }

// largest bounds a cost if the next request pays. Such a cost must refill within 100 years, and a script must be able
// to count it. Other limits bound the amount that a cost needs.
func (b *bucket) largest() int64 {
	if !b.limit.NextPays {
		return never
	}
	const exact = 1 << 51
	l, p := b.limit.rate()
	return smaller(num(exact), floorDiv(mul(num(MaxPeriodUS), l), p)).Int64()
}

func (b *bucket) rows(c int64) []row {
	r := row{limit: b.limit.Burst, remaining: b.remaining(), reset: b.until((*bucket).full)}
	if c > 0 {
		r.wait = b.wait(c)
	}
	return []row{r}
}

func (b *bucket) wait(c int64) int64 {
	need := b.need(c)
	if less(b.full(), need) || c > b.largest() {
		return never
	}
	return b.until(func(b *bucket) *big.Int { return b.need(c) })
}

// until returns the time in µs until an amount is available, which depends on the unit of the bucket's rate. After a clock step back, it includes the lag of the clock
// (rule 8).
func (b *bucket) until(of func(*bucket) *big.Int) int64 {
	missing := sub(of(b), b.amount())
	if missing.Sign() <= 0 {
		return 0
	}
	if then := b.atLastSlot(); then != nil && missing.Cmp(mul(num(b.promised), b.l)) > 0 {
		return b.promised + then.until(of) + b.behind
	}
	return ceilDiv(missing, b.l).Int64() + b.behind
}

// atLastSlot returns the bucket at the last reserved slot, or nil if there is none.
func (b *bucket) atLastSlot() *bucket {
	if b.promised == 0 {
		return nil
	}
	then := *b
	then.d = converted(larger(num(0), sub(b.d, mul(num(b.promised), b.l))), b.p, b.nextP)
	then.l, then.p, then.promised, then.behind = b.nextL, b.nextP, 0, 0
	return &then
}

// fills returns the time until the bucket is full.
func (b *bucket) fills() int64 {
	if then := b.atLastSlot(); then != nil && b.d.Cmp(mul(num(b.promised), b.l)) > 0 {
		return b.promised + ceilDiv(then.d, then.l).Int64()
	}
	return ceilDiv(b.d, b.l).Int64()
}

// span returns the time by which the clock may lag (rule 8).
func (b *bucket) span() *big.Int {
	if b.promised == 0 {
		return ceilDiv(larger(b.full(), b.d), b.l)
	}
	then := *b
	then.d, then.l, then.p, then.promised = converted(b.d, b.p, b.nextP), b.nextL, b.nextP, 0
	return add(num(b.promised), then.span())
}

func (b *bucket) remaining() int64 {
	return larger(num(0), floorDiv(b.amount(), b.p)).Int64()
}

// most returns the largest cost that passes. It is found by trial: if c units pass, every lower cost passes too.
// Nothing passes above the largest cost that a fully refilled bucket allows.
func (b *bucket) most() int64 {
	if b.limit.NextPays {
		if !b.admits(1) {
			return 0
		}
		return b.largest()
	}
	limit := smaller(num(never), floorDiv(b.cap(), b.p)).Int64()
	return int64(sort.Search(int(limit), func(i int) bool { return !b.admits(int64(i) + 1) }))
}

// delay returns the time in µs until the units are available. Unlike retry-after and reset-after, it excludes the lag of
// a clock that was set back, so it is the real time until the slot. Section 3 says "delay = wait", and the vectors agree.
func (b *bucket) delay(c int64) int64 {
	if !b.limit.paces() {
		return 0
	}
	if b.limit.NextPays {
		c = 0
	}
	missing := larger(num(0), sub(b.tokens(c), b.amount()))
	return ceilDiv(missing, b.l).Int64()
}

// paces reports whether admitted callers wait for their units.
func (l Limit) paces() bool { return l.Algorithm == Pacer || l.Algorithm == FairPacer }

// spend charges under the call's own rate, which is then stored in the state unless callers wait for slots.
func (b *bucket) spend(c int64) {
	if l, p := b.limit.rate(); b.promised == 0 {
		b.d = converted(b.d, b.p, p)
		b.l, b.p = l, p
	}
	b.d = add(b.d, b.tokens(c))
	if b.promised == 0 {
		b.nextL, b.nextP = b.limit.rate()
	}
	b.promised, b.lent = max(b.promised, b.lent), 0
}

// give keeps the rate in the state, which is the active rate.
func (b *bucket) give(n int64) { b.d = larger(num(0), sub(b.d, b.tokens(n))) }

// deny does nothing, because only windows and logs count denied requests.
func (b *bucket) deny(_, _ int64) {}

func (l Limit) checkBucket() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.Burst, 1, MaxUnits),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		l.noCountDenied(),
	)
	pacer := l.Algorithm == Pacer
	switch {
	case err != nil:
		return err
	case l.Debt < 0 || l.Debt > 0 && pacer:
		return fmt.Errorf("model: debt %d", l.Debt)
	case pacer && l.MaxQueue == nil && l.MaxWaitUS == nil:
		return errors.New("model: a pacer needs max_queue or max_wait_us")
	case l.MaxQueue != nil && *l.MaxQueue < 0 || l.MaxWaitUS != nil && *l.MaxWaitUS < 0:
		return errors.New("model: negative max_queue or max_wait_us")
	}
	b := newBucket(l, 0)
	if refill := ceilDiv(b.cap(), b.l); refill.Cmp(num(MaxPeriodUS)) > 0 {
		return fmt.Errorf("model: a full refill takes %v µs", refill)
	}
	return nil
}
