package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/simulator/model"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// tenant is a key under a fair share. It starts at the second begins, and then sends rate requests a second on average.
type tenant struct {
	rate, begins float64
	next         float64
	denied       int
	first        bool // its first request passed
}

func tenants(n int, rate func(i int) float64) (all []*tenant) {
	for i := range n {
		all = append(all, &tenant{rate: rate(i)})
	}
	return all
}

// TestFairShareOfTwoProcesses checks that two processes on one Redis divide a limit fairly: each tenant's requests go to
// both. The first case is a flood, the second has many tenants that request too much.
func TestFairShareOfTwoProcesses(t *testing.T) {
	t.Parallel()
	d := testbed.Standalone(t, testbed.Flavor(redistest.Redis))
	limit := rule.FairShare(rule.PerSecond(1000), rule.Burst(200))
	flood := append(append([]*tenant{{rate: 20_000}, {rate: 100, begins: 1}}, tenants(5, func(int) float64 { return 300 })...), tenants(10, func(int) float64 { return 20 })...)
	many := append(tenants(60, func(i int) float64 { return 50 + 40*float64(i) }), tenants(20, func(int) float64 { return 5 })...)
	for name, c := range map[string]struct {
		tenants []*tenant
		modest  int     // the number of tenants that request less than their part; they are the last ones
		denied  float64 // the largest fraction of their requests that may be denied
	}{
		"a flood":      {flood, 10, 0.001},
		"many tenants": {many, 20, 0.08},
	} {
		t.Run(name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			var processes [2]engine.Store
			for i := range processes {
				processes[i] = testbed.Adapters[i].Open(t, d, redisstore.Config{Prefix: fmt.Sprint("fair", len(c.tenants)), Clock: clock.Now})
			}
			shared := send(t, clock, processes, limit, c.tenants)
			passed, asked, denied := int64(0), int64(0), 0
			for i, s := range shared.Tenants {
				k, modest := c.tenants[i], i >= len(c.tenants)-c.modest
				if passed += s.Good; modest {
					asked, denied = asked+s.Offered, denied+k.denied
				}
				if (modest || k.begins > 0) && !k.first {
					t.Errorf("the first request of tenant %d was denied", i)
				}
			}
			if most := int64(200 + 1000*seconds); passed < most-210 || passed > most {
				t.Errorf("%d passed, want up to %d", passed, most)
			}
			if jain := shared.Jain(); jain < 0.99 || float64(denied) > c.denied*float64(asked) {
				t.Errorf("Jain's index is %.4f; %d of %d requests of modest tenants were denied", jain, denied, asked)
			}
		})
	}
}

// seconds is how long the tenants send requests. Requests within an instant are sent together.
const (
	seconds = 3
	instant = 200 * time.Microsecond
)

// send sends the tenants' requests in turns to the processes, for some seconds of the clock.
func send(t *testing.T, clock *headgatetest.Clock, processes [2]engine.Store, limit engine.Limit, all []*tenant) *model.Tally {
	t.Helper()
	random, tally := rand.New(rand.NewPCG(7, 0)), &model.Tally{Tenants: make([]model.Share, len(all))}
	for _, k := range all {
		k.next = k.begins + random.ExpFloat64()/k.rate
	}
	for at := 0.0; at < seconds; at += instant.Seconds() {
		for _, p := range processes {
			var ops []engine.Op
			var whose []int
			for i, k := range all {
				for ; k.next < at; k.next += random.ExpFloat64() / k.rate {
					if random.IntN(2) == 0 && p == processes[0] { // the other process gets it
						break
					}
					op := engine.Single(engine.OpAllow, fmt.Sprint("tenant", i), limit, 1)
					op.Space = "s"
					ops, whose = append(ops, op), append(whose, i)
				}
			}
			random.Shuffle(len(ops), func(i, j int) { ops[i], ops[j], whose[i], whose[j] = ops[j], ops[i], whose[j], whose[i] })
			results := make([]engine.Answer, len(ops))
			p.Do(context.Background(), ops, results)
			for i := range results {
				if results[i].Err != nil {
					t.Fatal(results[i].Err)
				}
				k, s := all[whose[i]], &tally.Tenants[whose[i]]
				if s.Offered++; results[i].Allowed {
					s.Good++
					k.first = k.first || s.Offered == 1
				} else {
					k.denied++
				}
			}
		}
		clock.Advance(instant)
	}
	return tally
}
