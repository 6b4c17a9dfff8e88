package series

import (
	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine/algo"
)

// Refused returns how many of the requests of one key a limit refuses, by the steps that
// the stores decide with. Each costs one unit.
func Refused(limit headgate.Limit, times []int64) (refused int64) {
	if int64(len(times)) <= Free(limit) {
		return 0
	}
	d := NewDecider(limit)
	for _, now := range times {
		if !d.Allow(now, 1) {
			refused++
		}
	}
	return refused
}

// Free returns how many units a limit lets through whenever they come: its capacity.
func Free(limit headgate.Limit) int64 {
	if len(limit.Rates()) > 1 {
		return 0 // of several windows, one may have less
	}
	return limit.Capacity()
}

// Decider is one limit of one key.
type Decider struct {
	steps   [1]algo.Step
	stored  algo.State
	numbers *algo.Limit
}

// NewDecider returns a limit that nothing was spent of.
func NewDecider(limit headgate.Limit) *Decider { return &Decider{numbers: limit.Numbers()} }

// Allow charges the cost at an instant, and reports whether it passes.
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
