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
	chosen := len(limits)
	limits = append(limits, fastExamples(t, false)...)
	for i, limit := range limits {
		quick, l, stored, now := 0, limit.Numbers(), algo.State{}, int64(1_700_000_000_000_000)
		steps, idle, most := 200_000, int64(300_000), int64(4)
		if i >= chosen {
			steps, idle, most = 2000, 3*l.Period/l.Count, max(4, l.Capacity()/2)
		}
		for range steps {
			var before algo.Outcome
			if w, ok := stored.Words(); ok {
				// Half of the steps are within 1 µs of an edge.
				switch random.IntN(4) {
				case 0:
					now = max(now, w.Expires(l, algo.Instant{Now: now, Wall: now})-1+random.Int64N(3))
				case 1:
					peek := []algo.Step{{Limit: l, Cost: 1 + random.Int64N(most), State: stored}}
					algo.Peek(peek, algo.Instant{Now: now, Wall: now})
					if before = peek[0].Outcome; before.Wait != algo.Never {
						now = max(now, now+before.Wait-1+random.Int64N(3))
					}
				default:
					now += random.Int64N(idle)
				}
			}
			cost := 1 + random.Int64N(most)
			step := []algo.Step{{Limit: l, Cost: cost, State: stored}}
			allowed := algo.Allow(step, algo.Instant{Now: now, Wall: now})
			if w, ok := stored.Words(); ok {
				var o algo.Outcome
				passed, decided := w.Allow(l, now, cost, &o)
				if decided {
					quick++
					left := w.State(l)
					writes := passed == step[0].Write && (!passed || left == step[0].State)
					if passed != allowed || o != step[0].Outcome || !writes {
						t.Fatalf("%v, %d units at %d of %+v: quick %v %+v %+v, steps %v %+v %+v", limit, cost, now, stored, passed, o, left, allowed, step[0].Outcome, step[0].State)
					}
				}
			}
			if step[0].Write {
				stored = step[0].State
			}
		}
		least := steps * 6 / 10
		if i >= chosen {
			least = steps / 10
		}
		if huge := l.Burst > 1<<31; huge != (quick == 0) || !huge && quick < least {
			t.Errorf("%v: %d of %d were quick", limit, quick, steps)
		}
	}
}

// If State.AllowFair decides, its answer and the new state are the same as with the steps. It decides all requests with
// an accepted cost.
func TestAllowFairEqualsTheSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	chosen := []engine.Limit{
		rule.FairShare(rule.PerSecond(100), rule.Burst(50)),
		rule.FairShare(rule.PerSecond(100), rule.Burst(500), rule.Weight(3)),
		rule.FairShare(rule.PerSecond(1000), rule.Burst(400), engine.Setting{Field: "nested"}),
	}
	for i, limit := range append(chosen, fastExamples(t, true)...) {
		l, now, allowed, steps := limit.Numbers(), int64(1_700_000_000_000_000), 0, 15_000
		if i >= len(chosen) {
			steps = 100
		}
		var stored algo.State
		for range steps {
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
		if allowed < steps/20 || allowed == steps {
			t.Errorf("%v: %d requests pass", limit, allowed)
		}
		if _, ok := stored.AllowFair(l, now-1, 1, 1, new(algo.Outcome)); ok {
			t.Errorf("%v: decided although the clock was set back", limit)
		}
	}
}

// fastExamples returns the examples that have a fast path, of the algorithms that divide their units or of the others.
// Each field that a fast path lists is in one of them.
func fastExamples(t *testing.T, divides bool) (limits []engine.Limit) {
	t.Helper()
	for _, a := range algo.Algorithms() {
		covered := algo.FieldsOf()
		for _, limit := range rule.EveryField(a) {
			if limit.Numbers().HasFastPath() && a.Divides() == divides {
				limits = append(limits, limit)
				covered |= limit.Numbers().Fields
			}
		}
		for _, field := range a.Fields() {
			listed := algo.Limit{Algorithm: a, Fields: algo.FieldsOf(field)}
			if listed.HasFastPath() && a.Divides() == divides && !listed.Fields.Within(covered) {
				t.Errorf("fast of %s lists %s, but no example with it has a fast path", a, field)
			}
		}
	}
	return limits
}

// Units of a prefetchable limit can be charged ahead and spent one by one: as many pass as remain, without a delay,
// many together are charged like each alone, and a denial changes nothing.
func TestPrefetchableUnitsAreAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, a := range algo.Algorithms() {
		for _, limit := range rule.EveryField(a) {
			if l := limit.Numbers(); l.Prefetchable() {
				prefetch(t, random, limit)
			}
		}
	}
}

func prefetch(t *testing.T, random *rand.Rand, limit engine.Limit) {
	t.Helper()
	l, now := limit.Numbers(), int64(1_700_000_000_000_000)
	var stored algo.State
	type decision = func([]algo.Step, algo.Instant) bool
	do := func(decide decision, cost int64, from algo.State) (bool, algo.Outcome, algo.State) {
		step := []algo.Step{{Limit: l, Cost: cost, State: duplicate(t, &from)}}
		at := algo.Instant{Now: now, Wall: now}
		passes := decide(step, at)
		if step[0].Write {
			from = step[0].State
		}
		return passes, step[0].Outcome, from
	}
	for range 40 {
		now += random.Int64N(l.Period / 8)
		_, before, _ := do(algo.Peek, 0, stored)
		n := max(1, before.Remaining+random.Int64N(7)-4)
		passes, together, after := do(algo.Allow, n, stored)
		if passes != (n <= before.Remaining) || together.Delay != 0 {
			t.Fatalf("%v: %d units of %d pass: %t, after %d µs", limit, n, before.Remaining, passes, together.Delay)
		}
		if _, unchanged, _ := do(algo.Peek, 0, after); !passes && unchanged != before {
			t.Fatalf("%v: a denial changes %+v to %+v", limit, before, unchanged)
		}
		for i := int64(0); passes && i < n; i++ {
			var alone algo.Outcome
			if passes, alone, stored = do(algo.Allow, 1, stored); !passes || i == n-1 && alone != together {
				t.Fatalf("%v: the last of %d units passes: %t, %+v, together %+v", limit, n, passes, alone, together)
			}
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
