package series

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Denied returns how many of a key's requests a limit denies, using the same steps as the stores. Each request costs
// one unit.
func Denied(limit engine.Limit, times []int64) (denied int64) {
	if int64(len(times)) <= Free(limit) {
		return 0
	}
	d := NewDecider(limit)
	for _, now := range times {
		if !d.Allow(now, 1) {
			denied++
		}
	}
	return denied
}

// Free returns the number of units that a limit always allows, however they are spaced: its capacity, or 0 if it has
// several windows.
func Free(limit engine.Limit) int64 {
	if len(limit.Rates()) > 1 {
		return 0 // with several windows, another window may allow less
	}
	return limit.Capacity()
}

// Decider decides one key's requests under one limit.
type Decider struct {
	steps   [1]algo.Step
	stored  algo.State
	numbers *algo.Limit
}

// NewDecider returns a Decider for an unused limit.
func NewDecider(limit engine.Limit) *Decider { return &Decider{numbers: limit.Numbers()} }

// Allow charges the cost at a time, and reports whether it is allowed.
func (d *Decider) Allow(now, cost int64) bool {
	d.steps[0] = algo.Step{Limit: d.numbers, Cost: cost, State: d.stored}
	allowed := algo.Allow(d.steps[:], algo.Instant{Now: now, Wall: now})
	if s := &d.steps[0]; s.Write {
		if d.stored = s.State; s.TTL <= 0 {
			d.stored = algo.State{}
		}
	}
	return allowed
}
