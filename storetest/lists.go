package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

// These limits apply to a call to a language model. They limit the user's requests and tokens, the organisation's
// tokens, and the number of concurrent calls.
var (
	callRequests = rule.FixedWindow(rule.PerMinute(20))
	callTokens   = rule.TokenBucket(rule.PerMinute(10_000))
	orgTokens    = rule.SlidingLog(rule.PerMinute(50_000))
	callPermit   = rule.Concurrency(2)
)

// callOf returns the reserve for a call, with an estimate of its tokens.
func callOf(id, user, org string, tokens int64) engine.Op {
	return engine.Op{Kind: engine.OpReserve, Space: "storetest", Key: user, ID: id, Charges: []engine.Charge{
		{Limit: callRequests, Cost: 1},
		{Limit: callTokens, Cost: tokens},
		{Limit: orgTokens, Cost: tokens, Key: org},
		{Limit: callPermit, Cost: 1, Key: org},
	}}
}

// lists holds a store and its clock, for tests of operations with several charges.
type lists struct {
	*testing.T

	store engine.Store
	clock *headgatetest.Clock
}

func (l lists) reserve(op engine.Op, allowed bool, binding int) *engine.Reservation {
	l.Helper()
	r := do(l.T, l.store, op)
	if r.Err != nil || r.Allowed != allowed || !allowed && r.Binding != binding {
		l.Fatalf("%s: %+v, %v; want allowed=%t by charge %d", op.ID, r, r.Err, allowed, binding)
	}
	return r.Reservation(&op, op.ID)
}

// left checks the remaining units of each of a call's limits.
func (l lists) left(user, org string, want ...int64) {
	l.Helper()
	op := callOf("", user, org, 0)
	op.Kind, op.Charges[0].Cost, op.Charges[3].Cost = engine.OpPeek, 0, 0
	r := do(l.T, l.store, op)
	if r.Err != nil || r.Len() != len(want) {
		l.Fatalf("%+v, %v", r, r.Err)
	}
	for i, w := range want {
		if got := r.Of(i).Remaining; got != w {
			l.Errorf("charge %d has %d left, want %d", i, got, w)
		}
	}
}

func (l lists) settle(r *engine.Reservation, settles bool, used ...int64) {
	l.Helper()
	answer := do(l.T, l.store, r.SettleEach(func(i int) int64 { return used[i] }))
	if answer.Err != nil || answer.Found != settles {
		l.Fatalf("%+v, %v; want settled=%t", answer, answer.Err, settles)
	}
}

// onlyChoice (regression: bug 87) checks that the last choice that is left is answered like a limit without choices.
func (l lists) onlyChoice() {
	for name, limit := range map[string]engine.Limit{
		"pacer":      rule.Pacer(rule.PerSecond(10), rule.MaxQueue(3)),
		"next pays":  rule.Pacer(rule.PerSecond(10), rule.MaxQueue(3), rule.NextPays()),
		"fair pacer": rule.FairPacer(rule.PerSecond(10), rule.Burst(10), rule.MaxQueue(30)),
		"window":     rule.SlidingWindow(rule.PerMinute(10)),
	} {
		for _, kind := range []engine.Kind{engine.OpAllow, engine.OpReserve} {
			alone := engine.Op{Kind: kind, Space: "storetest", Key: name, Ahead: time.Minute, ID: name + kind.String(), Charges: []engine.Charge{{Limit: limit, Cost: 10}}}
			if name == "pacer" || name == "next pays" {
				alone.Charges[0].Cost = 2
			}
			if kind == engine.OpAllow {
				alone.Ahead, alone.ID = 0, ""
			}
			left := alone
			left.Space += " left"
			left.Charges = []engine.Charge{alone.Charges[0]}
			left.Charges[0].Choice = 2
			for range 2 {
				want, got := do(l.T, l.store, alone), do(l.T, l.store, left)
				if want.Allowed {
					want.Choice = 2
				}
				if got.Err != nil || !reflect.DeepEqual(got, want) {
					l.Errorf("%s of a %s: %+v, %v; without a choice %+v, %v", kind, name, got, got.Err, want, want.Err)
				}
			}
		}
	}
}

// runLists checks reservations whose limits each have their own key and cost.
func runLists(t *testing.T, o Options) {
	t.Helper()
	with := func(name string, test func(l lists)) {
		t.Run(name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			test(lists{t, o.New(t, clock.Now), clock})
		})
	}
	with("a call is settled once, by the actual of each charge", func(l lists) {
		r := l.reserve(callOf("a", "ann", "org", 4000), true, 0)
		l.left("ann", "org", 19, 6000, 46_000, 1)
		again, err := engine.ParseReservation(r.String())
		if err != nil {
			l.Fatal(err)
		}
		l.settle(again, true, 1, 1500, 1500, 0)
		l.left("ann", "org", 19, 8500, 48_500, 2)
		l.settle(r, false, 0, 0, 0, 0)
		l.left("ann", "org", 19, 8500, 48_500, 2)
	})
	with("the only choice that is left", lists.onlyChoice)
	with("a denied call charges nothing, and says which charge denied it", func(l lists) {
		l.reserve(callOf("a", "ann", "org", 10_000), true, 0)
		l.reserve(callOf("b", "ann", "org", 1), false, 1)
		l.reserve(callOf("c", "bob", "org", 10_000), true, 0)
		l.reserve(callOf("d", "cid", "org", 1), false, 3)
		l.left("cid", "org", 20, 10_000, 30_000, 0)
		l.left("bob", "org", 19, 0, 30_000, 0)
	})
	with("a permit is held until the call is settled, or its lease ends", func(l lists) {
		first := l.reserve(callOf("a", "ann", "org", 1), true, 0)
		l.reserve(callOf("b", "ann", "org", 1), true, 0)
		l.reserve(callOf("c", "ann", "org", 1), false, 3)
		l.settle(first, true, 1, 1, 1, 1)
		l.left("ann", "org", 18, 9998, 49_998, 1)
		l.clock.Advance(engine.DefaultLease)
		l.left("ann", "org", 20, 10_000, 50_000, 2)
	})
	with("a permit is renewed by its reservation's id", func(l lists) {
		op := callOf("a", "ann", "org", 1)
		r := l.reserve(op, true, 0)
		l.clock.Advance(engine.DefaultLease / 2)
		renew := engine.Op{Kind: engine.OpRenew, Space: op.Space, Key: "org", ID: "a", Charges: []engine.Charge{{Limit: callPermit, Cost: 1}}}
		if answer := do(l.T, l.store, renew); answer.Err != nil || !answer.Allowed {
			l.Fatalf("%+v", answer)
		}
		l.clock.Advance(engine.DefaultLease / 2)
		l.left("ann", "org", 20, 10_000, 50_000, 1)
		l.settle(r, true, 1, 1, 1, 1)
		l.left("ann", "org", 20, 10_000, 50_000, 2)
	})
	with("an actual above the estimate is remembered by every charge", func(l lists) {
		r := l.reserve(callOf("a", "ann", "org", 1000), true, 0)
		l.settle(r, true, 1, 12_000, 12_000, 0)
		l.left("ann", "org", 19, 0, 38_000, 2)
		l.reserve(callOf("b", "ann", "org", 1), false, 1)
		l.clock.Advance(12*time.Second + 6*time.Millisecond) // time to refill 2000 units beyond the capacity, and one unit
		l.left("ann", "org", 19, 1, 38_000, 2)
	})
	with("a list without a holder cannot have a permit", func(l lists) {
		op := callOf("", "ann", "org", 1)
		if err := op.Check(); err == nil {
			l.Error("accepted")
		}
		op = callOf("a", "ann", "org", 1)
		op.Kind = engine.OpAllow
		if err := op.Check(); err == nil {
			l.Error("a take of a permit is accepted")
		}
	})
}
