package algo_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/rule"
)

// If Words.Allow decides, its answer and the new state are the same as with the steps. It decides nearly all requests.
func TestFastPathEqualsTheSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	limits := []engine.Limit{
		rule.TokenBucket(rule.PerSecond(10), rule.Burst(7)),
		rule.TokenBucket(rule.PerDay(1_234_567), rule.Burst(3)),
		rule.TokenBucket(rule.Per(4_294_967_295, 50*365*24*time.Hour)),
		rule.TokenBucket(rule.Per(algo.MaxUnits, 50*365*24*time.Hour)),
		rule.FixedWindow(rule.Per(algo.MaxUnits, time.Second)),
		rule.FixedWindow(rule.PerSecond(5)),
	}
	for _, limit := range limits {
		quick, l, stored, now := 0, limit.Numbers(), algo.State{}, int64(1_700_000_000_000_000)
		const steps = 200_000
		for range steps {
			var before algo.Outcome
			if w, ok := stored.Words(); ok {
				// Half of the steps are within 1 µs of an edge.
				switch random.IntN(4) {
				case 0:
					now = max(now, w.Expires(l, algo.Instant{Now: now, Wall: now})-1+random.Int64N(3))
				case 1:
					peek := []algo.Step{{Limit: l, Cost: 1 + random.Int64N(4), State: stored}}
					algo.Peek(peek, algo.Instant{Now: now, Wall: now})
					if before = peek[0].Outcome; before.Wait != algo.Never {
						now = max(now, now+before.Wait-1+random.Int64N(3))
					}
				default:
					now += random.Int64N(300_000)
				}
			}
			cost := 1 + random.Int64N(4)
			step := []algo.Step{{Limit: l, Cost: cost, State: stored}}
			allowed := algo.Allow(step, algo.Instant{Now: now, Wall: now})
			if w, ok := stored.Words(); ok {
				var o algo.Outcome
				passed, decided := w.Allow(l, now, cost, &o)
				if decided {
					quick++
					left := w.State(l)
					if passed != allowed || o != step[0].Outcome || passed && left != step[0].State {
						t.Fatalf("%v, %d units at %d of %+v: quick %v %+v %+v, steps %v %+v %+v", limit, cost, now, stored, passed, o, left, allowed, step[0].Outcome, step[0].State)
					}
				}
			}
			if step[0].Write {
				stored = step[0].State
			}
		}
		if huge := l.Burst > 1<<31; huge != (quick == 0) || !huge && quick < steps*6/10 {
			t.Errorf("%v: %d of %d were quick", limit, quick, steps)
		}
	}
}
