package lua

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/storetest"
)

// kindOfCall holds the limits of one kind, and the costs to draw for operations on them.
type kindOfCall struct {
	name   string
	draw   func() engine.Limit
	costs  []int64
	limits []engine.Limit
}

var fewUnits = []int64{1, 1, 1, 2, 3, 5, 0, 12}

var largeCosts = []int64{1, 1<<32 - 1, 1 << 32, 1 << 44, algo.MaxUnits / 3, algo.MaxUnits / 2, 1 << 52, 1<<63 - 1}

func kindsOfCall(r *rand.Rand) []kindOfCall {
	options := func(o ...engine.Setting) []engine.Setting {
		if r.IntN(2) == 0 {
			o = append(o, rule.CountDenied())
		}
		return o
	}
	spans := []time.Duration{time.Second, 2 * time.Second, 700 * time.Millisecond, time.Minute}
	kinds := []kindOfCall{
		{name: "bucket", costs: fewUnits, draw: func() engine.Limit {
			o := []engine.Setting{rule.Burst(1 + r.Int64N(20))}
			if r.IntN(3) == 0 {
				o = append(o, rule.AllowDebt(1+r.Int64N(10)))
			}
			return rule.TokenBucket(rule.Per(1+r.Int64N(15), spans[r.IntN(len(spans))]), o...)
		}},
		{name: "large bucket", costs: []int64{1, 1 << 30, 1 << 31, 1<<32 - 1, 1 << 52, 1<<53 + 1, 1<<63 - 1}, draw: func() engine.Limit {
			rate := rule.Per(1<<20+r.Int64N(1<<31), time.Hour+time.Duration(1+r.Int64N(86_400_000_000))*time.Microsecond)
			return rule.TokenBucket(rate, rule.Burst(1<<31+r.Int64N(1<<31)))
		}},
		{name: "largest bucket", costs: largeCosts, draw: func() engine.Limit {
			o := []engine.Setting{rule.Burst(1 + r.Int64N(algo.MaxUnits))}
			if r.IntN(3) == 0 {
				o = append(o, rule.AllowDebt(1+r.Int64N(algo.MaxUnits)))
			}
			return rule.TokenBucket(rule.Per(algo.MaxUnits-r.Int64N(1<<47), time.Second), o...)
		}},
		{name: "large fixed", costs: largeCosts, draw: func() engine.Limit {
			return rule.FixedWindow(rule.PerSecond(algo.MaxUnits-r.Int64N(1<<47)), options()...)
		}},
		{name: "large window", costs: largeCosts, draw: func() engine.Limit {
			k := 1 + r.Int64N(40)
			o := options([]engine.Setting{rule.Weighted(), rule.Strict(), rule.Lenient()}[r.IntN(3)], rule.SegmentLength(50*time.Millisecond))
			return rule.SlidingWindow(rule.Per(algo.MaxUnits-r.Int64N(1<<47), time.Duration(k)*50*time.Millisecond), o...)
		}},
		{name: "pacer", costs: fewUnits, draw: func() engine.Limit {
			o := []engine.Setting{rule.Burst(1 + r.Int64N(5)), rule.MaxQueue(r.Int64N(10))}
			if r.IntN(2) == 0 {
				o[1] = rule.MaxWait(time.Duration(r.Int64N(3000)) * time.Millisecond)
			}
			return rule.Pacer(rule.PerSecond(3), o...)
		}},
		{name: "warm-up", costs: fewUnits, draw: func() engine.Limit {
			o := []engine.Setting{rule.Burst(1 + r.Int64N(20))}
			if r.IntN(3) == 0 {
				o = append(o, rule.NextPays())
			}
			return rule.WarmUp(rule.PerSecond(1+r.Int64N(10)), time.Duration(2+r.Int64N(20))*time.Second, o...)
		}},
		{name: "adaptive", costs: fewUnits, draw: func() engine.Limit {
			return rule.AdaptiveRate(rule.PerSecond(1+r.Int64N(10)), 1, 10+r.Int64N(20), rule.Burst(1+r.Int64N(20)))
		}},
		{name: "fixed", costs: fewUnits, draw: func() engine.Limit {
			return rule.FixedWindow(rule.PerSecond(1+r.Int64N(10)), options()...)
		}},
		{name: "clock", costs: fewUnits, draw: func() engine.Limit {
			return rule.FixedWindow(rule.PerSecond(1+r.Int64N(10)), options(rule.Align("clock"))...)
		}},
		{name: "calendar", costs: fewUnits, draw: func() engine.Limit {
			return rule.FixedWindow(rule.PerMinute(1+r.Int64N(10)), options(rule.Align("Asia/Kolkata"))...)
		}},
		{name: "window", costs: fewUnits, draw: func() engine.Limit {
			const segment = 200 * time.Millisecond
			k, units := 1+r.Int64N(6), 1+r.Int64N(10)
			o := options([]engine.Setting{rule.Weighted(), rule.Strict(), rule.Lenient()}[r.IntN(3)], rule.SegmentLength(segment))
			if r.IntN(3) == 0 {
				o = append(o, rule.And(rule.Per(units+1+r.Int64N(5), time.Duration(3*k)*segment)))
			}
			return rule.SlidingWindow(rule.Per(units, time.Duration(k)*segment), o...)
		}},
		{name: "log", costs: fewUnits, draw: func() engine.Limit {
			o, units := options(), 1+r.Int64N(10)
			if r.IntN(2) == 0 {
				o = append(o, rule.And(rule.Per(units+1+r.Int64N(5), 3*time.Second)))
			}
			return rule.SlidingLog(rule.Per(units, time.Duration(1+r.IntN(20))*100*time.Millisecond), o...)
		}},
		{name: "long log", costs: []int64{1, 30_000, 50_000, 98_999, 1 << 52}, draw: func() engine.Limit {
			rate := rule.Per(99_000+r.Int64N(1001), time.Duration(1+r.IntN(20))*100*time.Millisecond)
			return rule.SlidingLog(rate, options()...)
		}},
		{name: "leases", costs: []int64{1, 2, 3, 4}, draw: func() engine.Limit {
			return rule.Concurrency(1+r.Int64N(8), rule.LeaseTime(time.Duration(1+r.Int64N(3000))*time.Millisecond))
		}},
	}
	var drawn []engine.Limit
	for _, k := range kinds {
		drawn = append(drawn, k.draw())
	}
	for _, a := range storetest.Missing(drawn) {
		kinds = append(kinds, kindOfCall{name: a.String(), costs: fewUnits, draw: func() engine.Limit {
			return storetest.Plain(a, rule.Per(1+r.Int64N(15), spans[r.IntN(len(spans))]), 1+r.Int64N(20))
		}})
	}
	return kinds
}

func randomCall(r *rand.Rand, families []kindOfCall, instants []time.Time) engine.Op {
	f := &families[r.IntN(len(families))]
	op := engine.Op{Space: "s", Key: fmt.Sprint("k", r.IntN(2)), Charges: []engine.Charge{{Limit: f.limits[r.IntN(3)], Cost: f.costs[r.IntN(len(f.costs))]}}}
	if f.name == "leases" {
		op.Kind = []engine.Kind{engine.OpAcquire, engine.OpAcquire, engine.OpRenew, engine.OpRelease, engine.OpPeek}[r.IntN(5)]
		if op.Kind != engine.OpPeek {
			op.ID = fmt.Sprint("id", r.IntN(4))
		}
		return op
	}
	switch r.IntN(8) {
	case 0:
		op.Kind = engine.OpPeek
	case 1, 2:
		op.Kind = engine.OpGive
		if r.IntN(2) == 0 {
			op.Handle = instants[max(0, len(instants)-1-r.IntN(4))].Add(time.Duration(r.IntN(3)) * 100 * time.Millisecond)
		}
	case 3:
		op.Kind, op.Share = engine.OpAtMost, int64(r.IntN(4))
		if r.IntN(2) == 0 {
			op.Ahead = time.Duration(r.IntN(15)) * 100 * time.Millisecond
		}
	case 4:
		op = besides(r, op, f, families)
	case 5:
		if op.Charges[0].Limit.Algorithm() == algo.FixedWindow {
			op.Kind = engine.OpCount
		}
	case 6:
		op.Kind, op.Ahead = engine.OpReserve, time.Duration(r.IntN(15))*100*time.Millisecond
	}
	if op.Check() != nil {
		op.Share, op.Ahead = 0, 0
	}
	if op.Check() != nil {
		op.Kind = engine.OpAllow // a reserve cannot reserve zero units, or permits alone
	}
	return op
}

// besides returns op with random charges on limits of other kinds added, except for permits.
func besides(r *rand.Rand, op engine.Op, f *kindOfCall, families []kindOfCall) engine.Op {
	for i := range families {
		other := &families[i]
		if other != f && other.name != "leases" && r.IntN(2) == 0 {
			op.Charges = append(op.Charges, engine.Charge{Limit: other.limits[r.IntN(3)], Cost: int64(r.IntN(4))})
			if op.Check() != nil {
				op.Charges = op.Charges[:len(op.Charges)-1]
			}
		}
	}
	return op
}
