package algo_test

import (
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// A limit that is not charged neither denies nor is written, even if it sets CountDenied (rules 4 and 5).
func TestLimitWithoutCostNeitherDeniesNorWrites(t *testing.T) {
	deny := algo.Limit{Algorithm: algo.FixedWindow, Count: 1, Period: 10}
	counting := algo.Limit{Algorithm: algo.SlidingLog, Count: 3, Period: 10, CountDenied: true}
	pacer := algo.Limit{Algorithm: algo.Pacer, Count: 1, Period: 10, Burst: 1, Queue: 5, HasQueue: true}
	steps := []algo.Step{{Limit: &deny, Cost: 1}, {Limit: &counting}, {Limit: &pacer}}
	for i, want := range []bool{true, false} {
		for j := range steps {
			steps[j].Write, steps[j].Outcome = false, algo.Outcome{}
		}
		if allowed := algo.Allow(steps, algo.Instant{Now: int64(i)}); allowed != want {
			t.Errorf("request %d: allowed %v", i, allowed)
		}
		if steps[0].Write != want || steps[1].Write || steps[2].Write {
			t.Errorf("request %d writes %v %v %v; only the first limit is written, and only if the request passes", i, steps[0].Write, steps[1].Write, steps[2].Write)
		}
	}
}

// An unlimited limit has no remaining units, and binds only if all limits are unlimited (rule 11).
func TestUnlimitedBindsOnlyAlone(t *testing.T) {
	limit, unlimited := algo.Limit{Algorithm: algo.FixedWindow, Count: 5, Period: 10}, algo.Limit{Algorithm: algo.Unlimited}
	both := []algo.Step{{Limit: &unlimited, Cost: 1}, {Limit: &limit, Cost: 1}, {Limit: &unlimited, Cost: 1}}
	if allowed := algo.Allow(both, algo.Instant{}); !allowed || algo.Binding(both, allowed) != 1 {
		t.Errorf("the binding limit is number %d, want 1", algo.Binding(both, allowed))
	}
	alone := []algo.Step{{Limit: &unlimited, Cost: 1}, {Limit: &unlimited, Cost: 1}}
	if allowed := algo.Allow(alone, algo.Instant{}); !allowed || algo.Binding(alone, allowed) != 0 {
		t.Errorf("of unlimited limits, number %d binds, want 0", algo.Binding(alone, allowed))
	}
}

// If a permit is lost on one limit, Renew extends none (rule 5).
func TestRenewSeveralAllOrNothing(t *testing.T) {
	long := algo.Limit{Algorithm: algo.Concurrency, Count: 1, Period: 50}
	short := algo.Limit{Algorithm: algo.Concurrency, Count: 1, Period: 10}
	for _, limits := range [][2]*algo.Limit{{&long, &short}, {&short, &long}} {
		steps := []algo.Step{{Limit: limits[0], Cost: 1}, {Limit: limits[1], Cost: 1}}
		if !algo.Acquire(steps, algo.Instant{}, "holder") {
			t.Fatal("not acquired")
		}
		for i := range steps {
			steps[i].Write = false
		}
		if algo.Renew(steps, algo.Instant{Now: 20}, "holder") {
			t.Error("renewed, although one permit has expired")
		}
		for i := range steps {
			if want := steps[i].Limit == &long; (steps[i].Outcome.Reset == 30) != want || steps[i].Write {
				t.Errorf("permit of %d µs: reset %d, written %v", steps[i].Limit.Period, steps[i].Outcome.Reset, steps[i].Write)
			}
		}
	}
}

// Acquire takes units of all limits or of none, whichever limit denies, and for whichever limit the id already holds
// units (rule 5).
func TestAcquireSeveralAllOrNothing(t *testing.T) {
	one := algo.Limit{Algorithm: algo.Concurrency, Count: 1, Period: 50}
	many := algo.Limit{Algorithm: algo.Concurrency, Count: 3, Period: 50}
	for _, limits := range [][2]*algo.Limit{{&one, &many}, {&many, &one}} {
		steps := []algo.Step{{Limit: limits[0], Cost: 1}, {Limit: limits[1], Cost: 1}}
		if !algo.Acquire(steps[1:], algo.Instant{}, "holder") || !algo.Acquire(steps, algo.Instant{Now: 1}, "holder") {
			t.Fatal("not acquired, although there is room")
		}
		if algo.Acquire(steps, algo.Instant{Now: 2}, "other") {
			t.Error("a limit of one was acquired twice")
		}
		for i := range steps {
			if o := steps[i].Outcome; o.Remaining != steps[i].Limit.Count-1 || o.Reset != 49 {
				t.Errorf("limit %d: %d remain for %d µs, want one less for 49", steps[i].Limit.Count, o.Remaining, o.Reset)
			}
		}
	}
}

// A request that one limit denies is not queued by another one (rule 5).
func TestDeniedTogetherHasNoDelay(t *testing.T) {
	pacer := algo.Limit{Algorithm: algo.Pacer, Count: 1, Period: 10, Burst: 1, Queue: 5, HasQueue: true}
	window := algo.Limit{Algorithm: algo.FixedWindow, Count: 1, Period: 1000}
	steps := []algo.Step{{Limit: &pacer, Cost: 1}, {Limit: &window, Cost: 1}}
	if !algo.Allow(steps, algo.Instant{}) {
		t.Fatal("the first request is denied")
	}
	if algo.Allow(steps, algo.Instant{}) || steps[0].Outcome.Delay != 0 || steps[0].Outcome.Wait != 0 {
		t.Errorf("a denied request: %+v; want no delay, and no wait of the pacer", steps[0].Outcome)
	}
}

// A choice that is set aside is not written, even if this decision changes its rate, as the lower maximum does here.
func TestChoiceSetAsideWritesNothing(t *testing.T) {
	fast := algo.Limit{Algorithm: algo.AdaptiveRate, Count: 10, Period: 1_000_000, Burst: 2, Min: 1, Max: 10, StepTime: 1_000_000, Failures: 5}
	slow, window := fast, algo.Limit{Algorithm: algo.FixedWindow, Count: 10, Period: 10_000_000}
	slow.Count, slow.Max = 5, 5
	first := []algo.Step{{Limit: &fast, Cost: 2}}
	if !algo.Allow(first, algo.Instant{Now: 1}) {
		t.Fatal("two of two are denied")
	}
	for _, pays := range []bool{false, true} {
		steps := []algo.Step{{Limit: &slow, Cost: 2, Choice: 1, State: first[0].State}, {Limit: &window, Cost: 2, Choice: 2}}
		now := algo.Instant{Now: 2}
		if pays {
			now.Now = 1_000_001
		}
		if !algo.Allow(steps, now) || steps[0].Write != pays || steps[1].Write == pays {
			t.Errorf("the first choice has room: %t; written: %t and %t", pays, steps[0].Write, steps[1].Write)
		}
	}
}
