package load

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine/algo"
)

// entry is one decision as it is remembered.
type entry struct {
	at      int64 // µs
	key     int32
	allowed bool
}

// Accuracy is the decisions beside those that the exact steps make of the same
// questions, key by key.
type Accuracy struct {
	// Known is false where there was no limit to compare with.
	Known bool
	// Exact is how many the steps allow, Allowed how many were.
	Exact, Allowed int64
	// Over is by how many units keys were allowed more than that, all together;
	// Under, by how many less.
	Over, Under int64
	// StoreTime: the questions were asked again at the times at which the store
	// decided them. Otherwise at those between question and answer, by this
	// machine's clock: what a limit admits in a round trip is then uncertain.
	StoreTime bool
	// Left is how many decisions were not compared, because there were more
	// than are remembered.
	Left int64
}

// compare asks the steps again.
func compare(limit headgate.Limit, keys int, log []entry) (a Accuracy) {
	if limit.Algorithm() == algo.None {
		return a
	}
	a.Known = true
	slices.SortStableFunc(log, func(x, y entry) int { return cmp.Compare(x.at, y.at) })
	states := make([]algo.State, keys)
	more := make([]int64, keys) // that were allowed
	steps := make([]algo.Step, 1)
	for _, e := range log {
		steps[0] = algo.Step{Limit: limit.Numbers(), Cost: 1, State: states[e.key]}
		if algo.Allow(steps, algo.Instant{Now: e.at, Wall: e.at}) {
			a.Exact++
			more[e.key]--
		}
		if steps[0].Write {
			states[e.key] = steps[0].State
		}
		if e.allowed {
			a.Allowed++
			more[e.key]++
		}
	}
	for _, n := range more {
		a.Over += max(0, n)
		a.Under += max(0, -n)
	}
	return a
}
