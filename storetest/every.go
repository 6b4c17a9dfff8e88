package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
)

// Examples returns a limit of 100 units an hour for each algorithm that charges units, and a concurrency limit of 100
// units. Tests of all algorithms start with these limits.
func Examples() map[algo.Algorithm]engine.Limit {
	rate := rule.PerHour(100)
	examples := map[algo.Algorithm]engine.Limit{}
	for _, limit := range []engine.Limit{ // those that need further fields, or another burst
		rule.Pacer(rate, rule.Burst(100), rule.MaxQueue(0)),
		rule.WarmUp(rate, 10*time.Minute, rule.Burst(100)),
		rule.Concurrency(100, rule.LeaseTime(time.Hour)),
		rule.FairShare(rate, rule.Burst(200)),
		rule.FairPacer(rate, rule.Burst(190), rule.MaxQueue(10)),
		rule.AdaptiveRate(rate, 100, 100),
	} {
		examples[limit.Algorithm()] = limit
	}
	for _, a := range algo.Algorithms() {
		if limit := Plain(a, rate, 100); examples[a] == (engine.Limit{}) && countsUnits(a) && limit.Err() == nil {
			examples[a] = limit
		}
	}
	return examples
}

// countsUnits reports whether requests take units of the algorithm's limits.
func countsUnits(a algo.Algorithm) bool { return !a.Constant() && !a.Holds() && !a.Punishes() }

// Plain returns a limit with the given rate and, if the algorithm supports one, the given burst. Tests that generate
// limits start with it for algorithms that need no other fields.
func Plain(a algo.Algorithm, rate engine.Rate, burst int64) engine.Limit {
	if a.Has("burst") {
		return engine.Build(a, []engine.Rate{rate}, rule.Burst(burst))
	}
	return engine.Build(a, []engine.Rate{rate})
}

// Missing returns the algorithms that charge units, need no fields besides those that [Plain] sets, and have no limit
// in the list. It is used to check that a list of limits also covers new algorithms.
func Missing(list []engine.Limit) (missing []algo.Algorithm) {
	for _, a := range algo.Algorithms() {
		found := slices.ContainsFunc(list, func(l engine.Limit) bool { return l.Algorithm() == a })
		if !found && countsUnits(a) && Plain(a, rule.PerSecond(1), 1).Err() == nil {
			missing = append(missing, a)
		}
	}
	return missing
}

// runEvery checks the properties that all algorithms have in common: exactly 100 units pass, waits and expiries end,
// and units that were given back or have expired pass again. A new algorithm that is missing from a switch fails here
// first.
func runEvery(t *testing.T, o Options) {
	examples := Examples()
	for _, a := range algo.Algorithms() {
		limit, ok := examples[a]
		switch {
		case !countsUnits(a): // covered by "constants", "leases", "penalties"
		case !ok:
			t.Errorf(`no limit of %s in storetest.Examples; CONTRIBUTING.md, "Adding an algorithm", lists the places`, a)
		default:
			t.Run(a.String(), func(t *testing.T) { runOne(t, o, limit) })
		}
	}
}

func runOne(t *testing.T, o Options, limit engine.Limit) {
	clock := headgatetest.NewClock() // layers' goroutines also read it
	store := o.New(t, clock.Now)
	call := func(kind engine.Kind, units int64) engine.Answer {
		t.Helper()
		r := do(t, store, engine.Single(kind, "k", limit, units))
		if r.Err != nil {
			t.Fatalf("%s: %v", kind, r.Err)
		}
		return r
	}
	check := func(r engine.Answer, allowed bool, remaining int64, why string) {
		t.Helper()
		d := &r
		if d.Allowed != allowed || d.Binds().Remaining != remaining || d.Binds().Limit != 100 {
			t.Errorf("allowed %t, %d of %d remaining; want %t, %d of 100: %s", d.Allowed, d.Binds().Remaining, d.Binds().Limit, allowed, remaining, why)
		}
	}
	if err := limit.Err(); err != nil {
		t.Fatal(err)
	}
	back, err := engine.ParseLimit(limit.String())
	if err != nil || back != limit {
		t.Errorf("%s reads back as %s, %v", limit, back, err)
	}
	check(call(engine.OpPeek, 1), true, 100, "no state is an untouched limit (rule 7)")
	check(call(engine.OpAllow, 60), true, 40, "the capacity passes")
	check(call(engine.OpAllow, 40), true, 0, "the capacity passes")
	denied := call(engine.OpAllow, 1)
	check(denied, false, 0, "no more than the capacity passes")
	check(call(engine.OpAllow, 101), false, 0, "more than the capacity never passes")
	reset := denied.Binds().ResetAfter
	if wait := denied.Binds().RetryAfter; wait <= 0 || reset < wait || reset > 3*time.Hour {
		t.Fatalf("a wait of %s and a reset after %s; want some, at most 3h", wait, reset)
	}
	if r := call(engine.OpExpiry, 1); !r.Found || r.TTL < reset {
		t.Errorf("expiry: found %t, %s; want at least the %s until the reset (rule 9)", r.Found, r.TTL, reset)
	}
	check(call(engine.OpGive, 10), true, 10, "given units pass again")
	if d := call(engine.OpAtMost, 30); d.Granted != 10 {
		t.Errorf("at most 30: %d granted, want the 10 that were given", d.Granted)
	}
	clock.Advance(denied.Binds().RetryAfter)
	if r := call(engine.OpPeek, 1); !r.Allowed {
		t.Errorf("denied after the wait (rule 3)")
	}
	clock.Advance(reset)
	check(call(engine.OpPeek, 1), true, 100, "after the reset the limit is untouched")
	check(call(engine.OpAllow, 100), true, 0, "and passes its capacity")
	if r := call(engine.OpReset, 1); !r.Found {
		t.Error("reset found no state")
	}
	check(call(engine.OpPeek, 1), true, 100, "after a reset the limit is untouched")
}
