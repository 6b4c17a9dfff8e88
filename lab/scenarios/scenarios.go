// Package scenarios contains sequences of operations on one key whose answers follow from the rules, for each
// algorithm. A store that decides by the steps of package engine gets the answers from them, and needs only package
// storetest. The Redis scripts decide by arithmetic of their own.
package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/storetest"
)

// Run runs the cases of package scenarios and all scenarios, each also with as many steps in one call as possible.
// Unless o.Once is set, it runs them a second time with operations whose memory is overwritten after each call.
func Run(t *testing.T, o storetest.Options) {
	t.Helper()
	storetest.Run(t, o)
	runAll(t, o)
	if o.Once {
		return
	}
	open := o.New
	o.New = func(t *testing.T, now func() time.Time) engine.Store {
		t.Helper()
		return storetest.Borrow(open(t, now))
	}
	t.Run("borrowed", func(t *testing.T) { runAll(t, o) })
}

func runAll(t *testing.T, o storetest.Options) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.run(t, o, false) })
		t.Run(s.name+" together", func(t *testing.T) { s.run(t, o, true) })
	}
}

// scenario is a sequence of steps on one key. It contains the reason for the rule that it tests.
type scenario struct {
	name  string
	why   string
	steps []step
}

// scenarios contains the scenarios of all files. Each file registers its own.
var scenarios []scenario

func register(cases []scenario) bool {
	scenarios = append(scenarios, cases...)
	return true
}

// step is one operation. Before the operation, the clock is moved by after.
type step struct {
	after  time.Duration // negative if the clock is set back
	kind   engine.Kind
	limits []engine.Limit
	key    string // "k" if it is ""
	cost   int64
	want   want
	handle int // for a give or settle: the step, counted from 1, whose charge is given back
	ahead  time.Duration
	report *algo.Report // for limits with an adaptive rate
	// dropped is the number of used units that a settle cannot charge.
	dropped int64
}

// want is the required answer to a step.
type want struct {
	allowed   bool
	remaining int64
	retry     time.Duration
	reset     time.Duration
	delay     time.Duration
	granted   int64
}

// yes returns the answer that an allowed request must get.
func yes(remaining int64, reset time.Duration) want {
	return want{allowed: true, remaining: remaining, reset: reset}
}

// no returns the answer that a denied request must get.
func no(remaining int64, retry, reset time.Duration) want {
	return want{remaining: remaining, retry: retry, reset: reset}
}

func take(limit engine.Limit, cost int64, w want) step {
	return step{limits: []engine.Limit{limit}, cost: cost, want: w}
}

func (s step) in(d time.Duration) step {
	s.after = d
	return s
}

func (s step) as(kind engine.Kind) step {
	s.kind = kind
	return s
}

// run sends the steps one by one or, if together is set, sends all steps at one instant in one call. Each step must get
// the same answer in both cases.
func (s scenario) run(t *testing.T, o storetest.Options, together bool) {
	t.Helper()
	clock := headgatetest.NewClock()
	store := o.New(t, clock.Now)
	taken := make([]charged, len(s.steps)+1)
	var to int
	for from := 0; from < len(s.steps); from = to {
		clock.Advance(s.steps[from].after)
		for to = from + 1; together && to < len(s.steps) && s.steps[to].after == 0 && s.steps[to].kind != engine.OpSettle; to++ {
		}
		ops, results := make([]engine.Op, to-from), make([]engine.Answer, to-from)
		for i := range ops {
			taken[from+i+1].at = clock.Now().Add(s.steps[from+i].ahead)
			ops[i] = s.steps[from+i].op(taken)
			if err := ops[i].Check(); err != nil {
				t.Fatal(err)
			}
		}
		store.Do(context.Background(), ops, results)
		for i := range results {
			taken[from+i+1] = charged{at: results[i].Handle(0), reservation: results[i].Reservation(&ops[i], fmt.Sprint("step ", from+i+1))}
			s.check(t, from+i, results[i], clock.Now())
		}
	}
}

// charged holds a step's charge for a later give or settle.
type charged struct {
	at          time.Time
	reservation *engine.Reservation
}

func (s step) op(taken []charged) engine.Op {
	if s.kind == engine.OpSettle {
		return taken[s.handle].reservation.Settle(s.cost)
	}
	op := engine.Op{Kind: s.kind, Space: "storetest", Key: cmp.Or(s.key, "k"), Handle: taken[s.handle].at, Ahead: s.ahead}
	for _, limit := range s.limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: s.cost, Report: s.report})
	}
	return op
}

// check compares the answer to a step with the required one.
func (s scenario) check(t *testing.T, i int, r engine.Answer, now time.Time) {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("step %d: %v", i, r.Err)
	}
	step, d := s.steps[i], r
	got := want{
		allowed: d.Allowed, remaining: d.Binds().Remaining, retry: d.Binds().RetryAfter, reset: d.Binds().ResetAfter, delay: d.Delay,
		granted: step.want.granted,
	}
	if step.kind == engine.OpAtMost || step.kind == engine.OpCount {
		got.granted = d.Granted
	}
	if step.kind == engine.OpSettle && r.Found != (step.want.granted == settledNow) {
		t.Errorf("step %d: settled now: %t\nbecause %s", i, r.Found, s.why)
	}
	if got != step.want {
		t.Fatalf("step %d: %s %d of %v:\n got %+v\nwant %+v\nbecause %s", i, step.kind, step.cost, step.limits, got, step.want, s.why)
	}
	if d.Dropped != step.dropped {
		t.Errorf("step %d: %d units dropped, want %d\nbecause %s", i, d.Dropped, step.dropped, s.why)
	}
	if !d.At().Equal(now) {
		t.Errorf("step %d: decided at %s, but the store's clock shows %s", i, d.At(), now)
	}
}

const never = headgate.Never
