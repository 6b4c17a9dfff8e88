package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/conform/model"
)

var _ = register(model.GuaranteedRate, drawing{
	draw: drawGuaranteed,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		*l = of // only the rank is not part of the grid
	},
	ranks: true,
})

func drawGuaranteed(r *rand.Rand, l *model.Limit, opts Options) {
	l.Count, l.PeriodUS, l.Burst = pick(r, counts), pick(r, periods), pick(r, []int64{3, 4, 8, 10, 40, 1_000})
	if opts.Big && r.IntN(2) == 0 {
		l.Count, l.Burst = drawCount(r, opts), drawCount(r, opts)
	}
	n := 2 + r.Int64N(2)
	if r.IntN(5) == 0 {
		n = 8
	}
	for left := l.Count; int64(len(l.Guarantees)) < n; {
		g := model.Guarantee{Rate: pick(r, []int64{0, min(1, left), left / 3, left / 2, left})}
		if left -= g.Rate; g.Rate > 0 {
			g.Burst = pick(r, []int64{1, max(1, l.Burst/4), max(1, l.Burst/n), max(1, l.Burst/2)})
		}
		if r.IntN(3) == 0 {
			g.Ceiling = pick(r, []int64{max(1, g.Rate), max(1, g.Rate+(l.Count-g.Rate)/2), l.Count})
		}
		l.Guarantees = append(l.Guarantees, g)
	}
	l.Rank, l.LendDown = 1+r.Int64N(n), r.IntN(2) == 0
}
