package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.WarmUp, drawing{
	draw: drawWarmUp,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.Count, l.PeriodUS, l.WarmUpUS = of.Count, of.PeriodUS, of.WarmUpUS
	},
	memory: func(l model.Limit) int64 { return 3*refill(l, l.Burst) + 2*l.WarmUpUS },
})

// drawWarmUp draws ramps with few units and ramps with many.
func drawWarmUp(r *rand.Rand, l *model.Limit, opts Options) {
	drawBucket(r, l, Options{Big: opts.Big})
	l.WarmUpUS = pick(r, []int64{100 * ms, 7 * sec, 3_600 * sec, 2 * refill(*l, 1), refill(*l, 1+r.Int64N(50))})
	l.NextPays = opts.Extras && r.IntN(3) == 0
}
