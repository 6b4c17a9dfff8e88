package lua

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// batches sends both stores the same calls with one or many operations: all kinds and algorithms, few keys (so that a
// call repeats keys), requests on several limits of one subject or of several subjects, and operations that already failed.
// All answers must be equal, which also shows that the order of operations is kept.
func batches(t *testing.T, open func(testing.TB, redisstore.Config) *redisstore.Store) {
	t.Helper()
	t.Run("of all kinds", func(t *testing.T) {
		alike(t, open, func(r *rand.Rand, call int) (func(*rand.Rand) engine.Op, time.Duration) {
			return []func(*rand.Rand) engine.Op{randomOp, randomRun}[call%2], time.Duration(r.IntN(400)) * time.Millisecond
		})
	})
	t.Run("of histories", func(t *testing.T) {
		alike(t, open, func(r *rand.Rand, _ int) (func(*rand.Rand) engine.Op, time.Duration) {
			return randomHistory, time.Duration(r.IntN(900)-200) * time.Millisecond
		})
	})
	t.Run("of every field", func(t *testing.T) {
		var limits []engine.Limit
		for _, a := range []algo.Algorithm{algo.TokenBucket, algo.Pacer, algo.FixedWindow} { // those of merge.lua
			limits = append(limits, rule.EveryField(a)...)
		}
		alike(t, open, func(r *rand.Rand, call int) (func(*rand.Rand) engine.Op, time.Duration) {
			next := func(r *rand.Rand) engine.Op { return randomLimit(r, limits, 20*call) }
			return next, time.Duration(r.IntN(20)) * time.Second
		})
	})
}

// alike checks that two stores give the same answers to random calls, with random clock steps between the calls.
func alike(t *testing.T, open func(testing.TB, redisstore.Config) *redisstore.Store,
	next func(r *rand.Rand, call int) (func(*rand.Rand) engine.Op, time.Duration),
) {
	t.Helper()
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	redis := open(t, redisstore.Config{Prefix: testbed.Prefix(), Clock: clock.Now})
	r := rand.New(rand.NewPCG(11, *differential.Seed))
	refused := errors.New("rejected before")
	var instants []time.Time
	for call := range raced.Size(400, 100) {
		operation, after := next(r, call)
		clock.Advance(after)
		instants = append(instants, clock.Now())
		more := r.IntN(400) * max(0, r.IntN(10)-8) // most calls have one operation, and may use another script
		ops := make([]engine.Op, 1+more)
		ours, expected := make([]engine.Answer, len(ops)), make([]engine.Answer, len(ops))
		for i := range ops {
			ops[i] = operation(r)
			if ops[i].Kind == engine.OpGive && r.IntN(2) == 0 {
				ops[i].Handle = instants[max(0, call-r.IntN(8))].Add(time.Duration(r.IntN(4)) * 300 * time.Millisecond)
			}
			if err := ops[i].Check(); err != nil {
				t.Fatal(err)
			}
			if r.IntN(50) == 0 {
				ours[i].Err, expected[i].Err = refused, refused
			}
		}
		redis.Do(context.Background(), ops, ours)
		memory.Do(context.Background(), ops, expected)
		for i := range ops {
			a, b := ours[i], expected[i]
			a.Promise, b.Promise = engine.Promise{}, engine.Promise{}
			if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
				t.Fatalf("call %d, operation %d of %d, %s %s %v:\n here %s\nsteps %s", call, i, len(ops), ops[i].Kind, ops[i].Key, ops[i].Charges, x, y)
			}
		}
	}
}

func randomOp(r *rand.Rand) engine.Op {
	subjects := []string{"a", "b", "{a}x", "c}d", "e"}
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerSecond(20), rule.Burst(20)),
		rule.Pacer(rule.PerSecond(10), rule.MaxQueue(5)),
		rule.WarmUp(rule.PerSecond(10), time.Second, rule.Burst(5)),
		rule.FixedWindow(rule.PerSecond(15)),
		rule.SlidingWindow(rule.PerSecond(12), rule.Segments(4), rule.Weighted()),
		rule.SlidingLog(rule.PerSecond(9)),
		rule.FixedWindow(rule.PerDay(500), rule.Align("Asia/Tokyo"), rule.Named("day")),
		engine.DenyAll(), engine.NoLimit(),
	}
	op := engine.Op{Space: "batch", Key: subjects[r.IntN(len(subjects))]}
	switch n := r.IntN(20); {
	case n < 12:
	case n < 14:
		op.Kind = engine.OpPeek
	case n < 15:
		op.Kind = engine.OpGive
	case n < 16:
		op.Kind = engine.OpReset
	case n < 17:
		op.Kind = engine.OpExpiry
	default:
		op.Kind = []engine.Kind{engine.OpAcquire, engine.OpRenew, engine.OpRelease}[r.IntN(3)]
		op.ID = fmt.Sprint("holder", r.IntN(4))
		op.Charges = []engine.Charge{{Limit: rule.Concurrency(3, rule.LeaseTime(time.Second)), Cost: 1}}
		return op
	}
	first := r.IntN(len(limits))
	for i := range 1 + max(0, r.IntN(6)-3) {
		charge := engine.Charge{Limit: limits[(first+i)%len(limits)], Cost: 1 + r.Int64N(3)}
		if i > 0 && op.Kind == engine.OpAllow && r.IntN(3) == 0 {
			charge.Key = "everybody"
		}
		op.Charges = append(op.Charges, charge)
	}
	return op
}

// randomRun returns an operation of a kind that the Redis store groups by key. Its limit's parameters sometimes differ
// from those in the previous operation.
func randomRun(r *rand.Rand) engine.Op {
	other := r.Int64N(12) / 11
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerSecond(20+other), rule.Burst(20-12*other)),
		rule.TokenBucket(rule.PerSecond(7), rule.AllowDebt(4), rule.Named("debt")),
		rule.Pacer(rule.PerSecond(10), rule.MaxQueue(5)),
		rule.FixedWindow(rule.Per(15, time.Second-time.Duration(other)*300*time.Millisecond)),
		rule.FixedWindow(rule.PerSecond(5), rule.CountDenied(), rule.Named("denied")),
		rule.FixedWindow(rule.PerDay(500), rule.Align("Asia/Tokyo"), rule.Named("day")),
	}
	op := engine.Single(engine.OpAllow, []string{"a", "b", "{a}x", "c}d"}[r.IntN(4)], limits[r.IntN(len(limits))], r.Int64N(4))
	op.Space = "batch"
	switch n := r.IntN(8); n {
	case 0:
		op.Kind = engine.OpPeek
	case 1:
		op.Kind = engine.OpGive
	case 2:
		op.Kind, op.Share = engine.OpAtMost, r.Int64N(4)
		op.Charges[0].Cost *= 3
	case 3, 4:
		if op.Charges[0].Limit.Algorithm() == algo.FixedWindow {
			op.Kind = engine.OpCount
		}
	case 5:
		if op.Charges[0].Cost > 0 {
			op.Kind, op.Ahead = engine.OpReserve, time.Duration(r.IntN(500))*time.Millisecond
		}
	}
	return op
}

// randomLimit returns an operation on one of 20 limits, each with counters of its own.
func randomLimit(r *rand.Rand, limits []engine.Limit, from int) engine.Op {
	i := (from + r.IntN(20)) % len(limits)
	cost := 1 + r.Int64N(2)*r.Int64N(1+limits[i].Capacity()/2)
	op := engine.Single(engine.OpAllow, []string{"a", "b", "c"}[r.IntN(3)], limits[i], cost)
	if r.IntN(3) == 0 {
		op.Kind = []engine.Kind{engine.OpPeek, engine.OpGive}[r.IntN(2)]
	}
	op.Space = fmt.Sprint("limit-", i)
	return op
}

// randomHistory returns an operation on a sliding log or sliding window. Its limit's parameters sometimes differ from
// those in the previous operation. A batch of average size uses every key, so that keys still have state when the clock
// is set back.
func randomHistory(r *rand.Rand) engine.Op {
	span := 4*time.Second + time.Duration(r.Int64N(300)/299)*800*time.Millisecond
	limits := []engine.Limit{
		rule.SlidingLog(rule.Per(200, span)),
		rule.SlidingLog(rule.Per(90, span), rule.CountDenied(), rule.Named("denied")),
		rule.SlidingLog(rule.Per(2000, time.Hour), rule.Named("long")),
		rule.SlidingWindow(rule.Per(150, span), rule.Segments(40), rule.Weighted()),
		rule.SlidingWindow(rule.Per(100, span), rule.Segments(4), rule.Weighted(), rule.CountDenied(), rule.Named("denied")),
	}
	op := engine.Single(engine.OpAllow, []string{"a", "b", "{a}x"}[r.IntN(3)], limits[r.IntN(len(limits))], r.Int64N(4))
	op.Space = "history"
	switch n := r.IntN(10); n {
	case 0:
		op.Kind = engine.OpPeek
	case 1:
		op.Kind = engine.OpGive
		op.Charges[0].Cost *= 1 + r.Int64N(6)/5*9
	case 2:
		op.Kind, op.Share = engine.OpAtMost, r.Int64N(4)
		op.Charges[0].Cost *= 3
		if op.Charges[0].Limit.Algorithm() == algo.SlidingLog {
			op.Ahead = time.Duration(r.IntN(4)) * 300 * time.Millisecond
		}
	}
	return op
}
