package script

import (
	"math/rand/v2"
	"slices"

	"github.com/headgate/headgate/lab/model"
)

// In a list, a permit is only reserved. The permits' own verbs are in leases.go.
var _ = register(model.Concurrency, drawing{
	draw: func(r *rand.Rand, l *model.Limit, _ Options) {
		l.Limit, l.WindowUS = pick(r, []int64{1, 2, 5, 20}), pick(r, []int64{ms, sec, 60 * sec})
	},
	beside: true,
})

var _ = register(model.FairConcurrency, drawing{
	draw: func(r *rand.Rand, l *model.Limit, _ Options) {
		l.Limit, l.WindowUS = pick(r, []int64{10, 11, 20}), pick(r, []int64{ms, sec, 60 * sec})
		l.Weight = pick(r, []int64{1, 1, 3, 100})
	},
	beside: true,
	keys:   []string{"{list}", "{list}a", "{list}b"},
})

// holds reports whether a limit's units are held.
func holds(l model.Limit) bool {
	return l.Algorithm == model.Concurrency || l.Algorithm == model.FairConcurrency
}

// listKeys are suffixes of the case's key, for limits with their own keys in a list. All of these keys are on the same
// slot of a Cluster. If keys are on several slots, the mode is split, and the decision is not made in one step.
// storetest and lab/llm test that case.
var listKeys = []string{"{list}", "{list}a", "{list}b"}

// chooses turns the limits in a set into choices, except for permits and limits that count denials.
func chooses(r *rand.Rand, set []model.Limit) {
	for i := range set {
		l := &set[i]
		l.CountDenied = false
		if !holds(*l) {
			l.Choice = r.IntN(3)
		}
	}
}

// first replaces the step's operation if limits with choices do not support it.
func (g *generator) first(s *model.Step) {
	switch s.Op {
	case model.AtMost, model.Count:
		s.Op = model.Take
	case model.Give:
		s.Op = model.Peek
	}
}

// list gives each limit in a step its own cost. Permits are only reserved and peeked at.
func (g *generator) list(s *model.Step) {
	limits := g.made.LimitSets[s.Set]
	permit := slices.ContainsFunc(limits, holds)
	if permit && s.Op != model.Reserve && s.Op != model.Settle && s.Op != model.Reset {
		s.Op = model.Peek
	}
	if s.Op == model.AtMost || s.Op == model.Reset || g.rand.IntN(3) == 0 {
		return
	}
	s.Costs = make([]int64, len(limits))
	for i, l := range limits {
		switch {
		case g.rand.IntN(2) == 0:
			s.Costs[i] = s.N
		case holds(l):
			s.Costs[i] = 1
		default:
			s.Costs[i] = g.rand.Int64N(2 + capacity(l))
		}
	}
	if s.Op == model.Reserve && !slices.ContainsFunc(s.Costs, func(n int64) bool { return n > 0 }) {
		s.Costs[0] = 1 // to reserve nothing is an error
	}
}
