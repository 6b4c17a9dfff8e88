package load

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// entry is a recorded decision: its time, the index of its key, and whether it was allowed.
type entry struct {
	at      int64 // µs
	key     int32
	allowed bool
}

// Accuracy compares the target's decisions with an exact simulation of the limit for the same requests, key by key.
type Accuracy struct {
	// Known is false if there was no limit to compare with.
	Known bool `json:"-"`
	// Exact is the number of units that the simulation allowed, and Allowed the number that the target allowed.
	Exact   int64 `json:"exact"`
	Allowed int64 `json:"allowed"`
	// Over is the number of units allowed beyond Exact, and Under the number of units missing, each summed over all
	// keys.
	Over  int64 `json:"over"`
	Under int64 `json:"under"`
	// StoreTime is true if the simulation used the store's time of each decision. If it is false, it used the midpoint
	// between sending and receiving, on this machine's clock. Units allowed within a round trip are then uncertain.
	StoreTime bool `json:"store_time"`
	// Skipped is the number of decisions that were neither recorded nor compared, because there were too many.
	Skipped int64 `json:"skipped"`
}

// compare simulates the limit exactly for the recorded requests, and compares the results. For an invalid limit, such
// as the zero Limit, Known stays false.
func compare(limit engine.Limit, keys int, log []entry) (a Accuracy) {
	if limit.Err() != nil {
		return a
	}
	a.Known = true
	slices.SortStableFunc(log, func(x, y entry) int { return cmp.Compare(x.at, y.at) })
	states := make([]algo.State, keys)
	excess := make([]int64, keys) // units allowed beyond the simulation, by key
	steps := make([]algo.Step, 1)
	divides := limit.Algorithm().Divides() // if so, all keys share one state
	for _, e := range log {
		of := e.key
		if divides {
			of = 0
		}
		steps[0] = algo.Step{Limit: limit.Numbers(), Cost: 1, State: states[of], KeyHash: uint64(e.key)}
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
