package storetest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

// capped returns a reserve that charges a user's and an organisation's tokens, with a ceiling for each.
func capped(id, user string, tokens, most, mostOfOrg int64) engine.Op {
	return engine.Op{Kind: engine.OpReserve, Space: "storetest", Key: user, ID: id, Charges: []engine.Charge{
		{Limit: fixedTokens, Cost: tokens}, {Limit: orgTokens, Cost: tokens, Key: "{" + user[:1] + "}org"},
	}, Term: &engine.Term{Within: 10 * time.Second, Then: engine.ReleaseCharge, Ceilings: []int64{most, mostOfOrg}}}
}

// pending makes a reservation and checks, for each limit, the number of units that open reservations can still charge.
func (l lists) pending(op engine.Op, want ...int64) *engine.Reservation {
	l.Helper()
	answer := do(l.T, l.store, op)
	if answer.Err != nil || !answer.Outcome.Allowed || !slices.Equal(answer.Outcome.Pending, want) {
		l.Fatalf("%+v, %v; want %d pending", answer.Outcome, answer.Err, want)
	}
	return answer.Outcome.Reservation(&op, op.ID)
}

// runCeilings checks how many units open reservations can still charge.
func runCeilings(t *testing.T, o Options) {
	t.Helper()
	clock := headgatetest.NewClock()
	l := lists{t, o.New(t, clock.Now), clock}
	const ann, ada = "{a}nn", "{a}da"

	first := l.pending(capped("1", ann, 1000, 3000, 4000), 2000, 3000)
	l.pending(capped("2", ada, 500, 500, 0), 0, 0) // no ceiling, so no units are pending
	second := l.pending(capped("3", ann, 100, 100, 2100), 2000, 5000)
	l.report(first, true, 1200, 3500)
	l.pending(capped("4", ann, 10, 10, 10), 1800, 2500)
	l.report(first, true, 0, 0) // does not give anything back
	l.pending(capped("5", ann, 10, 10, 10), 1800, 2500)
	l.settle(second, true, 100, 2100)
	third := l.pending(capped("6", ann, 10, 30, 10), 1820, 500)

	clock.Advance(9 * time.Second)
	l.report(third, true, 0, 0)
	clock.Advance(time.Second)
	if l.overdue() == 0 {
		l.Fatal("no reservation was ended")
	}
	last := l.pending(capped("7", ann, 10, 10, 20), 20, 10)
	l.settle(third, true, 30, 10)
	l.settle(last, true, 0, 0)
	l.pending(capped("8", ann, 10, 10, 10), 0, 0)

	// A reserve fails if the sum of the open ceilings would no longer be exact. If the store has a local fallback,
	// this process's share may decide the reserve instead, with the mode Fallback.
	large := rule.FixedWindow(rule.PerDay(algo.MaxUnits))
	for i := range 33 {
		op := engine.Single(engine.OpReserve, "large", large, 1)
		op.Space, op.ID = "storetest", "large"+string(rune('A'+i))
		op.Term = &engine.Term{Within: time.Minute, Ceilings: []int64{algo.MaxUnits}}
		answer := do(l.T, l.store, op)
		if kept := answer.Err == nil && answer.Outcome.Promise.Mode != engine.Fallback; kept != (i < 32) {
			l.Fatalf("reservation %d: %+v", i, answer)
		}
	}
}

// randomCeilings compares a store's answers, for operations in random order, with the sum over the open reservations.
func randomCeilings(t *testing.T, o Options) {
	t.Helper()
	clock := headgatetest.NewClock()
	l := lists{t, o.New(t, clock.Now), clock}
	random := rand.New(rand.NewPCG(8, 8))
	type one struct {
		r          *engine.Reservation
		user       string
		used, most int64
		ends       time.Time
	}
	open := []one{}
	left := func(user string) (sum int64) {
		for _, o := range open {
			if o.user == user && clock.Now().Before(o.ends) {
				sum += o.most - o.used
			}
		}
		return sum
	}
	for i := range 150 {
		clock.Advance(time.Duration(random.IntN(1000)) * time.Millisecond)
		before := len(open)
		if open = slices.DeleteFunc(open, func(o one) bool { return !clock.Now().Before(o.ends) }); len(open) < before {
			l.overdue() // on a Cluster without shards this takes 0.1 s
		}
		at := random.IntN(max(1, len(open)))
		switch {
		case random.IntN(2) == 0 || len(open) == 0:
			user := "{a}" + strconv.Itoa(random.IntN(3))
			units := 1 + random.Int64N(9)
			most := units + random.Int64N(50)
			r := l.pending(capped(strconv.Itoa(i), user, units, most, 0), left(user)+most-units, 0)
			open = append(open, one{r, user, units, most, clock.Now().Add(10 * time.Second)})
		case random.IntN(2) == 0:
			used := random.Int64N(open[at].most + 1)
			l.report(open[at].r, true, used, 0)
			open[at].used, open[at].ends = max(open[at].used, used), clock.Now().Add(10*time.Second)
		default:
			l.settle(open[at].r, true, random.Int64N(open[at].most+1), 0)
			open = slices.Delete(open, at, at+1)
		}
	}
}
