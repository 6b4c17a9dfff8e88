package load

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// entry is a recorded decision.
type entry struct {
	at      int64 // µs
	key     int32
	allowed bool
}

// Accuracy compares the decisions with the exact steps for the same requests, for each key.
type Accuracy struct {
	// Known is false if there was no limit to compare with.
	Known bool
	// Exact is the number of units allowed by the steps, and Allowed the number allowed by the target.
	Exact, Allowed int64
	// Over is the sum, over all keys, of units allowed beyond Exact. Under is the sum of units missing.
	Over, Under int64
	// StoreTime is true if the steps used the time of each decision. Otherwise they used the midpoint between sending
	// and receiving, by this machine's clock, so units allowed within a round trip are uncertain.
	StoreTime bool
	// Skipped is the number of decisions beyond the recorded ones, which were not compared.
	Skipped int64
}

// compare runs the exact steps on the recorded requests.
func compare(limit engine.Limit, keys int, log []entry) (a Accuracy) {
	if limit.Err() != nil {
		return a
	}
	a.Known = true
	slices.SortStableFunc(log, func(x, y entry) int { return cmp.Compare(x.at, y.at) })
	states := make([]algo.State, keys)
	excess := make([]int64, keys) // units allowed beyond the steps, by key
	steps := make([]algo.Step, 1)
	divides := limit.Algorithm().Divides() // then all keys have one state
	for _, e := range log {
		of := e.key
		if divides {
			of = 0
		}
		steps[0] = algo.Step{Limit: limit.Numbers(), Cost: 1, State: states[of], Whose: uint64(e.key)}
		if algo.Allow(steps, algo.Instant{Now: e.at, Wall: e.at}) {
			a.Exact++
			excess[e.key]--
		}
		if steps[0].Write {
			states[of] = steps[0].State
		}
		if e.allowed {
			a.Allowed++
			excess[e.key]++
		}
	}
	for _, n := range excess {
		a.Over += max(0, n)
		a.Under += max(0, -n)
	}
	return a
}
