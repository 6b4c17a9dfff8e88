package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// Regression: bugs 32 and 34. While slots move, calls reach nodes that do not serve their slots. A call that fails
// charges nothing.
func TestClusterErrors(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, testbed.Flavor(redistest.Redis), "cluster-require-full-coverage no")
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		t.Run("moved", func(t *testing.T) {
			_, home := c.Of(testbed.StateKey("k"))
			for _, other := range c.Primaries() {
				if other != home {
					alone := open(t, testbed.At(other.Addr(), ""), redisstore.Config{})
					testbed.WantClass(t, testbed.Take(alone, "k", testbed.Hourly), redisstore.Moved)
				}
			}
		})
		t.Run("moved in circles", func(t *testing.T) { movedInCircles(t, c, open(t, testbed.OfCluster(c), redisstore.Config{})) })
		t.Run("ask", func(t *testing.T) {
			subject := testbed.Prefix()
			move := c.Migrate(testbed.StateKey(subject))
			alone := open(t, testbed.At(move.From.Addr(), ""), redisstore.Config{})
			testbed.WantClass(t, testbed.Take(alone, subject, testbed.Hourly), redisstore.Ask)
			move.Settle()
		})
		t.Run("migrating", func(t *testing.T) { migrating(t, c, open(t, testbed.OfCluster(c), redisstore.Config{})) })
		t.Run("try again", func(t *testing.T) { tryAgain(t, c, open(t, testbed.OfCluster(c), redisstore.Config{})) })
		t.Run("cluster down", func(t *testing.T) {
			store := open(t, testbed.OfCluster(c), redisstore.Config{})
			testbed.Take(store, "k", testbed.Hourly)
			gone := testbed.Prefix()
			slot, home := c.Of(testbed.StateKey(gone))
			for _, s := range c.Servers {
				s.MustDo("cluster", "delslots", slot)
			}
			r := testbed.Take(store, gone, testbed.Hourly)
			if e, ok := errors.AsType[*redisstore.Error](r.Err); !ok || e.Class != redisstore.ClusterDown && e.Class != redisstore.Unsent {
				t.Errorf("without a node: %+v, %v", r, r.Err)
			}
			home.MustDo("cluster", "addslots", slot)
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				if r = testbed.Take(store, gone, testbed.Hourly); r.Err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatal(r.Err)
				}
			}
			if r.Binds().Remaining != 99 {
				t.Errorf("%d left: a call that failed was charged", r.Binds().Remaining)
			}
		})
	})
}

// migrating checks that calls succeed while a slot moves (MOVED, ASK), and that each call is charged once, wherever its
// key is.
func migrating(t *testing.T, c *redistest.Nodes, store *redisstore.Store) {
	t.Helper()
	subject, want := testbed.Prefix(), int64(99)
	take := func(when string) {
		t.Helper()
		if r := testbed.Take(store, subject, testbed.Hourly); r.Err != nil || r.Binds().Remaining != want {
			t.Errorf("%s: %d left, want %d, %v", when, r.Binds().Remaining, want, r.Err)
		}
		want--
	}
	take("before")
	move := c.Migrate(testbed.StateKey(subject))
	take("while the key has not moved")
	move.MoveKeys(1000)
	take("when the key has moved, and the slot not (ASK)")
	testbed.Take(store, subject, rule.FixedWindow(rule.PerHour(5))) // created during the move
	move.Settle()
	take("after (MOVED)")
	take("and again")
}

// tryAgain checks a call while one request's keys are on both nodes. The call must wait briefly, return TRYAGAIN and
// charge nothing.
func tryAgain(t *testing.T, c *redistest.Nodes, store *redisstore.Store) {
	t.Helper()
	subject := testbed.Prefix()
	op := engine.Op{Space: "s", Key: subject, Charges: []engine.Charge{
		{Limit: testbed.Hourly, Cost: 1}, {Limit: rule.FixedWindow(rule.PerHour(50)), Cost: 1},
	}}
	do := func() engine.Answer {
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{op}, results)
		return results[0]
	}
	do()
	move := c.Migrate(testbed.StateKey(subject))
	move.MoveKeys(1)
	testbed.WantClass(t, do(), redisstore.TryAgain)
	move.Settle()
	if r := do(); r.Err != nil || r.Binds().Remaining != 48 || r.Of(0).Remaining != 98 {
		t.Errorf("after the move: %+v, %v", r, r.Err)
	}
}

// If a request's limits are on several slots of a Cluster, a denial gives back the units charged to the earlier slots,
// and the decision's mode is split.
func TestSplit(t *testing.T) {
	t.Parallel()
	d := testbed.Guard(t, testbed.Cluster(t))
	testbed.EachClient(t, func(t *testing.T, open func(testing.TB, testbed.Deployment, redisstore.Config) *redisstore.Store) {
		store := open(t, d, redisstore.Config{Prefix: testbed.Prefix()})
		log := rule.SlidingLog(rule.PerHour(10))
		small := rule.FixedWindow(rule.PerHour(4))
		op := engine.Op{Space: "s", Key: "user", Charges: []engine.Charge{
			{Limit: log, Cost: 1}, {Limit: small, Cost: 1, Key: "everybody"}, {Limit: testbed.Hourly, Cost: 1, Key: "third one"},
		}}
		do := func(kind engine.Kind, cost int64) engine.Answer {
			t.Helper()
			o := op
			o.Kind, o.Charges = kind, append([]engine.Charge(nil), op.Charges...)
			for i := range o.Charges {
				o.Charges[i].Cost = cost
			}
			results := make([]engine.Answer, 1)
			store.Do(context.Background(), []engine.Op{o}, results)
			if results[0].Err != nil || kind != engine.OpReset && kind != engine.OpExpiry && results[0].Promise.Mode != engine.Split {
				t.Fatalf("%s: %+v, %v", kind, results[0], results[0].Err)
			}
			return results[0]
		}
		left := func(d engine.Answer) string {
			text := fmt.Sprint(d.Allowed, d.Granted)
			for i := range d.Len() {
				text += fmt.Sprint(" ", d.Of(i).Remaining)
			}
			return text
		}
		for _, step := range []struct {
			kind engine.Kind
			cost int64
			want string
		}{
			{engine.OpPeek, 1, "true 0 10 4 100"},
			{engine.OpAllow, 1, "true 1 9 3 99"},
			{engine.OpAllow, 4, "false 0 9 3 99"},
			{engine.OpAtMost, 5, "true 3 6 0 96"},
			{engine.OpAtMost, 5, "false 0 6 0 96"},
			{engine.OpAllow, 1, "false 0 6 0 96"},
			{engine.OpGive, 2, "true 0 8 2 98"},
			{engine.OpAllow, 2, "true 2 6 0 96"},
		} {
			if d := do(step.kind, step.cost); left(d) != step.want {
				t.Errorf("%s %d: %s, want %s", step.kind, step.cost, left(d), step.want)
			}
		}
		if r := do(engine.OpExpiry, 0); !r.Found || r.TTL < 50*time.Minute {
			t.Errorf("expiry: %t %s", r.Found, r.TTL)
		}
		if !do(engine.OpReset, 0).Found || do(engine.OpReset, 0).Found {
			t.Error("a reset that is not one")
		}
		splitLeases(t, store)
	})
}

func splitLeases(t *testing.T, store *redisstore.Store) {
	t.Helper()
	two, one := rule.Concurrency(2), rule.Concurrency(1)
	do := func(kind engine.Kind, id string) engine.Answer {
		results := make([]engine.Answer, 1)
		store.Do(context.Background(), []engine.Op{{Kind: kind, Space: "s", Key: "user", ID: id, Charges: []engine.Charge{
			{Limit: two, Cost: 1}, {Limit: one, Cost: 1, Key: "everybody"},
		}}}, results)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return results[0]
	}
	if !do(engine.OpAcquire, "a").Allowed || do(engine.OpAcquire, "b").Allowed {
		t.Error("leases over two slots: a has one, b none")
	}
	if r := do(engine.OpRenew, "a"); !r.Allowed || r.Of(0).Remaining != 1 {
		t.Errorf("b's permit was not given back: %+v", r)
	}
	if !do(engine.OpRelease, "a").Found || !do(engine.OpAcquire, "b").Allowed {
		t.Error("after a's release b gets it")
	}
}

// movedInCircles makes two nodes name each other as the one that serves a slot. The store asks four times, and says so.
// Regression: bug 242.
func movedInCircles(t *testing.T, c *redistest.Nodes, store *redisstore.Store) {
	subject := testbed.Prefix()
	slot, home := c.Of(testbed.StateKey(subject))
	for _, other := range c.Primaries() {
		if other != home {
			home.MustDo("cluster", "setslot", slot, "node", other.Text("cluster", "myid"))
			break
		}
	}
	testbed.WantClass(t, testbed.Take(store, subject, testbed.Hourly), redisstore.Moved)
	home.MustDo("cluster", "setslot", slot, "node", home.Text("cluster", "myid"))
	testbed.Until(t, "the store decides, and was not charged before", func() bool {
		r := testbed.Take(store, subject, testbed.Hourly)
		return r.Err == nil && r.Binds().Remaining == 99
	})
}
