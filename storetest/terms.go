package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

var (
	divided = rule.FairShare(rule.PerSecond(10), rule.Burst(20))
	paced   = rule.Pacer(rule.PerSecond(10), rule.MaxQueue(3))
)

// termed returns the reserve for a call, with a term of ten seconds.
func termed(id string, tokens int64, then engine.Unsettled) engine.Op {
	op := callOf(id, "ann", "org", tokens)
	op.Term = &engine.Term{Within: 10 * time.Second, Then: then}
	return op
}

func (l lists) keeper() engine.Keeper {
	l.Helper()
	keeper := engine.KeeperOf(l.store)
	if keeper == nil {
		l.Fatalf("%T keeps no open reservations", l.store)
	}
	return keeper
}

// open checks that a key has an open reservation if want is true, and none otherwise. On a Cluster, each part of a
// reservation counts as one.
func (l lists) open(key string, want bool) {
	l.Helper()
	of, err := l.keeper().OpenOf(context.Background(), key, 10, divided.Counts("storetest", key))
	if err != nil || (len(of) > 0) != want {
		l.Fatalf("%d reservations of %s are open, %v; want open=%t", len(of), key, err, want)
	}
	count, err := l.keeper().OpenCount(context.Background())
	if err != nil || (count > 0) != want {
		l.Fatalf("%d reservations are open, %v; want open=%t", count, err, want)
	}
}

// overdue ends the overdue reservations and returns the number of their parts that it ended.
func (l lists) overdue() (ended int) {
	l.Helper()
	for range 30 { // on a Cluster each call covers only some of the slots
		due, err := l.keeper().Due(context.Background())
		if err != nil {
			l.Fatal(err)
		}
		for _, r := range due {
			if answer := do(l.T, l.store, r.Overdue()); answer.Err != nil {
				l.Fatal(answer.Err)
			} else if answer.Found {
				ended++
			}
		}
	}
	return ended
}

// report reports the units used so far, and checks whether the reservation is open.
func (l lists) report(r *engine.Reservation, open bool, used ...int64) {
	l.Helper()
	op := r.SettleEach(func(i int) int64 { return used[i] })
	op.Stage = engine.Report
	if answer := do(l.T, l.store, op); answer.Err != nil || answer.Found != open {
		l.Fatalf("%+v, %v; want open=%t", answer, answer.Err, open)
	}
}

// runTerms checks reservations that the store keeps open.
func runTerms(t *testing.T, o Options) {
	t.Helper()
	with := func(name string, test func(l lists)) {
		t.Run(name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			test(lists{t, o.New(t, clock.Now), clock})
		})
	}
	with("one that is settled in time is open until then", func(l lists) {
		r := l.reserve(termed("a", 4000, engine.ReleaseCharge), true, 0)
		l.open("ann", true)
		l.open("org", true)
		again, err := engine.ParseReservation(r.String())
		if err != nil {
			l.Fatal(err)
		}
		l.settle(again, true, 1, 1500, 1500, 0)
		l.open("ann", false)
		l.left("ann", "org", 19, 8500, 48_500, 2)
		l.settle(r, false, 0, 0, 0, 0)
		l.clock.Advance(time.Minute)
		if l.overdue() > 0 {
			l.Fatal("it was ended twice")
		}
	})
	with("one of a fair share is open for its key", func(l lists) {
		op := engine.Op{
			Kind: engine.OpReserve, Space: "storetest", Key: "ann", ID: "a", Term: &engine.Term{Within: 10 * time.Second, Then: engine.ReleaseCharge},
			Charges: []engine.Charge{{Limit: divided, Cost: 4}},
		}
		r := l.reserve(op, true, 0)
		l.open("ann", true)
		l.report(r, true, 6)
		other := op
		other.Key, other.ID = "bob", "b"
		l.settle(l.reserve(other, true, 0), true, 0)
		l.settle(r, true, 7)
		l.open("ann", false)
		peek := engine.Single(engine.OpPeek, "ann", divided, 1)
		peek.Space = "storetest"
		if o := do(l.T, l.store, peek); o.Binds().Remaining != 3 {
			l.Fatalf("%+v; want 7 of 20 units charged to ann, so that 3 are left for it", o)
		}
	})
	with("a denied one is not open", func(l lists) {
		l.reserve(termed("a", 10_001, engine.KeepCharge), false, 1)
		l.open("ann", false)
	})
	for _, c := range []struct {
		name         string
		then         engine.Unsettled
		request      int64
		tokens, orgs int64
	}{
		{"stays charged", engine.KeepCharge, 19, 6000, 46_000},
		{"is given back", engine.ReleaseCharge, 20, 10_000, 50_000},
		{"is charged its estimate", engine.ChargeEstimate, 19, 1000, 41_000},
	} {
		with("one that nobody settles "+c.name, func(l lists) {
			op := termed("a", 4000, c.then)
			op.Charges[1].Limit, op.Charges[2].Limit = fixedTokens, orgTokens
			op.Term.Estimates = []int64{1, 9000, 9000, 1}
			r := l.reserve(op, true, 0)
			l.clock.Advance(10*time.Second - time.Microsecond)
			if l.overdue() > 0 {
				l.Fatal("it was ended before its time")
			}
			l.open("org", true)
			l.clock.Advance(time.Microsecond)
			l.settle(r, false, 0, 0, 0, 0) // too late
			if l.overdue() == 0 {
				l.Fatal("it was not ended")
			}
			l.open("org", false)
			if l.overdue() > 0 {
				l.Fatal("it was ended twice")
			}
			l.leftOf(op, c.request, c.tokens, c.orgs, 2)
		})
	}
	reports(with)
}

// reports checks reports on open reservations.
func reports(with func(name string, test func(l lists))) {
	with("a report charges what was used beyond it, and begins the term again", func(l lists) {
		op := termed("a", 1000, engine.ReleaseCharge)
		op.Charges[1].Limit = fixedTokens
		r := l.reserve(op, true, 0)
		l.clock.Advance(9 * time.Second)
		l.report(r, true, 1, 1200, 700, 0)
		l.clock.Advance(9 * time.Second)
		l.report(r, true, 0, 0, 0, 0)
		of, err := l.keeper().OpenOf(context.Background(), "org", 1)
		if err != nil || len(of) != 1 || of[0].ID != r.ID {
			l.Fatalf("%+v, %v", of, err)
		}
		for i := range of[0].Limits {
			held := &of[0].Limits[i]
			if _, key := op.Subject(i); key == "org" && held.Limit == orgTokens && (held.Units != 1000 || held.Reported != 700) {
				l.Errorf("%d units of the organisation, %d reported; want 1000 and 700", held.Units, held.Reported)
			}
		}
		if l.overdue() > 0 {
			l.Fatal("it was ended although its holder reported")
		}
		l.clock.Advance(10 * time.Second)
		l.report(r, false, 1, 5000, 5000, 0)
		if l.overdue() == 0 {
			l.Fatal("it was not ended")
		}
		// All units are released except the reported ones.
		l.leftOf(op, 19, 8800, 49_300, 2)
	})
	with("a commit below what was reported is that", func(l lists) {
		op := termed("a", 1000, engine.KeepCharge)
		op.Charges[1].Limit = fixedTokens
		r := l.reserve(op, true, 0)
		l.report(r, true, 1, 1200, 700, 0)
		l.settle(r, true, 0, 900, 900, 0)
		l.leftOf(op, 19, 8800, 49_100, 2)
	})
	with("one whose caller has left is undone, also in a pacer", func(l lists) {
		op := engine.Op{
			Kind: engine.OpReserve, Space: "storetest", Key: "ann", ID: "a", Ahead: time.Hour,
			Charges: []engine.Charge{{Limit: paced, Cost: 1}}, Term: &engine.Term{Within: time.Second},
		}
		first := do(l.T, l.store, op)
		for _, undo := range first.Undo(&op, 0, time.Second) {
			if answer := do(l.T, l.store, undo); !answer.Found {
				l.Fatalf("%+v", answer)
			}
		}
		l.open("ann", false)
		if again := do(l.T, l.store, op); again.Delay != 0 {
			l.Fatalf("%+v: the first has its slot still", again)
		}
	})
	with("without a term there is nothing to report on", func(l lists) {
		r := l.reserve(callOf("a", "ann", "org", 10), true, 0)
		op := r.Settle(5)
		op.Stage = engine.Report
		if op.Check() == nil {
			l.Error("a report of a reservation without a term is accepted")
		}
	})
}

// fixedTokens does not refill while a test of terms moves the clock.
var fixedTokens = rule.FixedWindow(rule.PerHour(10_000), rule.Named("tokens"))

// leftOf checks the remaining units of each limit in an operation.
func (l lists) leftOf(op engine.Op, want ...int64) {
	l.Helper()
	peek := engine.Op{Kind: engine.OpPeek, Space: op.Space, Key: op.Key}
	for _, c := range op.Charges {
		c.Cost = 0
		peek.Charges = append(peek.Charges, c)
	}
	d := do(l.T, l.store, peek)
	for i, w := range want {
		if got := d.Of(i).Remaining; got != w {
			l.Errorf("charge %d has %d left, want %d", i, got, w)
		}
	}
}
