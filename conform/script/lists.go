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

// listKeys stand behind the case's key in the keys that limits of a list have of their own. Two of them
// are on one slot of a Cluster.
var listKeys = []string{"", "{list}a", "{list}b", "c"}

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
