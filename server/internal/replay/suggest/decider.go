package suggest

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// denied returns how many of a key's requests a limit denies, using the same steps as the stores. Each request costs
// one unit.
func denied(limit engine.Limit, times []int64) (count int64) {
	if int64(len(times)) <= free(limit) {
		return 0
	}
	d := newDecider(limit)
	for _, now := range times {
		if !d.allow(now) {
			count++
		}
	}
	return count
}

// free returns the number of units that a limit always allows, however they are spaced: its capacity, or 0 if it has
// several windows.
func free(limit engine.Limit) int64 {
	if len(limit.Rates()) > 1 {
		return 0 // with several windows, another window may allow less
	}
	return limit.Capacity()
}

// decider decides one key's requests under one limit.
type decider struct {
	steps   [1]algo.Step
	stored  algo.State
	numbers *algo.Limit
}

func newDecider(limit engine.Limit) *decider { return &decider{numbers: limit.Numbers()} }

// allow charges one unit at a time, and reports whether it is allowed.
func (d *decider) allow(now int64) bool {
	d.steps[0] = algo.Step{Limit: d.numbers, Cost: 1, State: d.stored}
	allowed := algo.Allow(d.steps[:], algo.Instant{Now: now, Wall: now})
	if s := &d.steps[0]; s.Write {
		if d.stored = s.State; s.TTL <= 0 {
			d.stored = algo.State{}
		}
	}
	return allowed
}
