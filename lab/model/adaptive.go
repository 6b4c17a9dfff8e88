package model

import (
	"errors"
	"fmt"
	"math/big"
)

// AdaptiveRate is the name of the algorithm.
const AdaptiveRate = "adaptive-rate"

var _ = register(algorithm{
	names:  []string{AdaptiveRate},
	check:  Limit.checkAdaptive,
	absent: func(l Limit, now int64) view { return newGovernor(l, now) },
	grid:   func(l Limit) string { return fmt.Sprint(l.PeriodUS) },
})

// AdaptiveFields are the fields of adaptive rates. Of Failures and MaxPauseUS, 0 counts as set.
type AdaptiveFields struct {
	Min        int64  `json:"min,omitempty"`
	Max        int64  `json:"max,omitempty"`
	IntervalUS int64  `json:"interval_us,omitempty"`
	Failures   *int64 `json:"failures,omitempty"`
	MaxPauseUS *int64 `json:"max_pause_us,omitempty"`
}

// Outcomes holds the outcomes of earlier requests that a step reports.
type Outcomes struct {
	Good    int64 `json:"good"`
	Bad     int64 `json:"bad"`
	PauseUS int64 `json:"pause_us"`
}

// governor is the state of an adaptive rate (section 3c): a bucket whose rate changes, and the reported outcomes. Its
// amounts and rates are in units of 1/1024 of a bucket's.
type governor struct {
	*bucket

	opened, good, bad, used int64
	version, raised         int64
	paused                  int64 // no request passes before this time
	over                    int64 // end of the written state
	stepped                 bool  // this decision changes the rate
}

var parts = num(1024)

func newGovernor(l Limit, now int64) *governor {
	b := &bucket{limit: l, d: num(0), ts: now, l: mul(num(l.Count), parts), p: mul(num(l.PeriodUS), parts)}
	return &governor{bucket: b, opened: now}
}

func (g *governor) at(l Limit, now int64) view {
	if now >= g.over {
		return newGovernor(l, now)
	}
	v := g.corrected(l, now)
	b := *v.bucket
	v.bucket, b.limit, b.behind = &b, l, max(0, b.ts-now)
	if elapsed := now - b.ts; elapsed > 0 {
		b.d, b.ts = larger(num(0), sub(b.d, mul(num(elapsed), b.l))), now
	}
	if v.paused = min(v.paused, b.ts+*l.MaxPauseUS); v.paused <= b.ts {
		v.paused = 0
	}
	v.stepped = false
	v.move(b.l)
	if b.ts-v.opened >= l.IntervalUS && v.good+v.bad >= 10 {
		v.move(v.next())
		v.opened, v.good, v.bad, v.used = b.ts, 0, 0, 0
	}
	return v
}

// corrected returns a copy whose instants are not too far ahead of the clock (rule 8).
func (g *governor) corrected(l Limit, now int64) *governor {
	v := *g
	if g.far(l, now) {
		b := *g.bucket
		b.ts, v.bucket = now, &b
		v.opened, v.raised, v.paused = min(v.opened, now), min(v.raised, now), min(v.paused, now+*l.MaxPauseUS)
	}
	return &v
}

func (g *governor) far(l Limit, now int64) bool {
	full := mul(num(l.Burst), g.p)
	return now < g.over && g.ts-now > l.IntervalUS && num(g.ts-now).Cmp(ceilDiv(larger(full, g.d), g.l)) > 0
}

func (g *governor) moved(l Limit, now int64) (view, bool) {
	v := g.corrected(l, now)
	b := *v.bucket
	b.limit, v.bucket = l, &b
	v.over = v.end()
	return v, g.far(l, now)
}

// next returns the rate after an interval: an eighth lower after too many failures, unchanged if less than three
// quarters of the old rate were used, and otherwise 1/64 higher.
func (g *governor) next() *big.Int {
	limit := g.limit
	if g.bad*100 > *limit.Failures*(g.good+g.bad) {
		return sub(g.l, ceilDiv(g.l, num(8)))
	}
	elapsed := min(g.ts-g.opened, 64*limit.IntervalUS)
	if less(mul(num(4*g.used), g.p), mul(num(3*elapsed), g.l)) {
		return g.l
	}
	return add(g.l, floorDiv(g.l, num(64)))
}

// move sets the rate, clamped to the call's minimum and maximum. If that changes the rate, it increments the version.
func (g *governor) move(rate *big.Int) {
	rate = larger(mul(num(g.limit.Min), parts), smaller(mul(num(g.limit.Max), parts), rate))
	if rate.Cmp(g.l) == 0 {
		return
	}
	g.stepped = true
	if g.version++; less(g.l, rate) {
		g.raised = g.ts
	}
	g.l = rate
}

func (g *governor) observe(o *Outcomes) {
	g.good, g.bad = min(g.good+o.Good, 1<<40), min(g.bad+o.Bad, 1<<40)
	if us := min(o.PauseUS, *g.limit.MaxPauseUS); us > 0 {
		g.paused = max(g.paused, g.ts+us)
	}
}

// written returns the state in its stored form, including its end.
func (g *governor) written() view {
	v := *g
	v.over = v.end()
	return &v
}

func (g *governor) end() int64 {
	return max(g.ts+ceilDiv(g.d, g.l).Int64(), g.paused, g.ts+600*g.limit.IntervalUS)
}

func (g *governor) gone() bool {
	return g.d.Sign() == 0 && g.good+g.bad+g.used+g.version+g.paused == 0
}

func (g *governor) pause() int64 { return max(0, g.paused-g.ts) }

func (g *governor) rows(c int64) []row {
	r := g.bucket.rows(c)[0]
	r.rate, r.version = g.l.Int64(), g.version
	if pause := g.pause(); pause > 0 {
		r.remaining, r.reset = 0, max(r.reset, pause+g.behind)
		if c > 0 {
			r.wait = max(r.wait, pause+g.behind)
		}
	}
	return []row{r}
}

func (g *governor) admits(c int64) bool { return g.pause() == 0 && g.bucket.admits(c) }

func (g *governor) most() int64 {
	if g.pause() > 0 {
		return 0
	}
	return g.bucket.most()
}

func (g *governor) spend(c int64) {
	g.d, g.used = add(g.d, g.tokens(c)), min(g.used+c, MaxUnits)
}

func (g *governor) give(n int64) {
	g.bucket.give(n)
	g.used = max(0, g.used-n)
}

// giveBack gives nothing back for a charge made before the last raise, because more units may have refilled than the
// reservation accounts for.
func (g *governor) giveBack(n int64, h held, r returns) returns {
	if g.used = max(0, g.used-n); h.taken < g.raised {
		return r
	}
	return g.bucket.giveBack(n, h, r)
}

func (l Limit) checkAdaptive() error {
	const fastest, hour = 100_000_000, 3_600_000_000
	err := errors.Join(
		within("count", l.Count, 1, fastest),
		within("min", l.Min, 1, l.Count),
		within("max", l.Max, l.Count, fastest),
		within("period_us", l.PeriodUS, MinPeriodUS, hour),
		within("interval_us", l.IntervalUS, 100_000, 60_000_000),
		within("failures", *l.Failures, 0, 99),
		within("max_pause_us", *l.MaxPauseUS, 0, hour),
		l.noCountDenied(),
	)
	if err != nil {
		return err
	}
	return within("burst", l.Burst, 1, MaxPeriodUS/l.PeriodUS) // at one unit per period
}
