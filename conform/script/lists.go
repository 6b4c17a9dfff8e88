package script

import (
	"math/rand/v2"
	"slices"

	"github.com/headgate/headgate/conform/model"
)

// A permit is only reserved, beside other limits: see leases.go for its own verbs.
var _ = register(model.Concurrency, drawing{
	draw: func(r *rand.Rand, l *model.Limit, _ Options) {
		l.Limit, l.WindowUS = pick(r, []int64{1, 2, 5, 20}), pick(r, []int64{ms, sec, 60 * sec})
	},
	beside: true,
})

// listKeys stand behind the case's key in the keys that limits of a list have of their own. All are on one
// slot of a Cluster: on several the mode is split, which is not decided in one step (storetest and
// conform/llm check what it promises).
var listKeys = []string{"{list}", "{list}a", "{list}b"}

// chooses makes choices of the limits of a set, of which none counts denials. Permits are of no choice.
func chooses(r *rand.Rand, set []model.Limit) {
	for i := range set {
		l := &set[i]
		l.CountDenied = false
		if l.Algorithm != model.Concurrency {
			l.Choice = r.IntN(3)
		}
	}
}

// first keeps to the verbs that limits with choices have.
func (g *generator) first(s *model.Step) {
	switch s.Op {
	case model.AtMost, model.Count:
		s.Op = model.Take
	case model.Give:
		s.Op = model.Peek
	}
}

// list gives the limits of a step costs of their own. A permit is only reserved and peeked at.
func (g *generator) list(s *model.Step) {
	limits := g.made.LimitSets[s.Set]
	permit := slices.ContainsFunc(limits, func(l model.Limit) bool { return l.Algorithm == model.Concurrency })
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
		case l.Algorithm == model.Concurrency:
			s.Costs[i] = 1
		default:
			s.Costs[i] = g.rand.Int64N(2 + capacity(l))
		}
	}
	if s.Op == model.Reserve && !slices.ContainsFunc(s.Costs, func(n int64) bool { return n > 0 }) {
		s.Costs[0] = 1 // nothing to reserve is an error
	}
}
