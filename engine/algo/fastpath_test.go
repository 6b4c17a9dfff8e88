package algo_test

import (
	"bytes"
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
		rule.Pacer(rule.PerSecond(10), rule.Burst(3), rule.MaxQueue(5)),
		rule.Pacer(rule.PerDay(1_234_567), rule.Burst(4), rule.MaxWait(time.Second)),
		rule.Pacer(rule.PerSecond(7), rule.Burst(4), rule.MaxQueue(9), rule.MaxWait(500*time.Millisecond)),
		rule.Pacer(rule.Per(algo.MaxUnits, 50*365*24*time.Hour), rule.Burst(algo.MaxUnits), rule.MaxQueue(3)),
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

// If State.AllowFair decides, its answer and the new state are the same as with the steps. It decides all requests with
// an accepted cost.
func TestAllowFairEqualsTheSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, text := range []string{"fair-share 100/1s burst 50", "fair-share 100/1s burst 500 weight 3", "fair-share 1000/1s burst 400 nested"} {
		limit, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		l, now, allowed := limit.Numbers(), int64(1_700_000_000_000_000), 0
		var stored algo.State
		for range 15_000 {
			now += random.Int64N(2*l.Period/l.Count) / (1 + random.Int64N(20)) * random.Int64N(3)
			key, cost := uint64(random.Int64N(3))<<32|uint64(random.ExpFloat64()*20), 1+random.Int64N(3)
			step := []algo.Step{{Limit: l, Cost: cost, State: duplicate(t, &stored), KeyHash: key}}
			passes := algo.Allow(step, algo.Instant{Now: now, Wall: now})
			if stored.Absent() {
				stored = step[0].State
				continue
			}
			var o algo.Outcome
			quick, ok := stored.AllowFair(l, now, cost, key, &o)
			if !ok || quick != passes || o != step[0].Outcome {
				t.Fatalf("%v, %d units of %x at %d: quick %v %v %+v, steps %v %+v", limit, cost, key, now, ok, quick, o, passes, step[0].Outcome)
			}
			if got, want := stored.Append(nil), step[0].State.Append(nil); passes && !bytes.Equal(got, want) {
				t.Fatalf("%v: the state is %x, with the steps %x", limit, got, want)
			}
			if passes {
				allowed++
			}
		}
		if allowed < 1500 || allowed > 13_500 {
			t.Errorf("%v: %d requests pass", limit, allowed)
		}
		if _, ok := stored.AllowFair(l, now-1, 1, 1, new(algo.Outcome)); ok {
			t.Errorf("%v: decided although the clock was set back", limit)
		}
	}
}

// duplicate returns a copy that shares nothing with the state.
func duplicate(t *testing.T, s *algo.State) algo.State {
	t.Helper()
	if s.Absent() {
		return algo.State{}
	}
	c, err := algo.DecodeState(s.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
