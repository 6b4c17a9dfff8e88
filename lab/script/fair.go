package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.FairShare, drawing{
	draw: drawFairShare,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.Count, l.PeriodUS = of.Count, of.PeriodUS
	},
	keys: []string{"{list}", "{list}:a", "{list}:b", "{list}c:a", `{list}c\:d`},
})

var _ = register(model.FairPacer, drawing{
	draw: func(r *rand.Rand, l *model.Limit, opts Options) {
		drawFairShare(r, l, opts)
		l.MaxQueue = new(pick(r, []int64{1, 2, 10, 10, 20, 300}))
	},
	onGrid: drawings[model.FairShare].onGrid,
	keys:   drawings[model.FairShare].keys,
})

func drawFairShare(r *rand.Rand, l *model.Limit, opts Options) {
	drawBucket(r, l, Options{Big: opts.Big})
	l.Weight = pick(r, []int64{1, 1, 2, 7, 100})
	l.Nested = r.IntN(2) == 0
}
