package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/conform/model"
)

var _ = register(model.FairShare, drawing{
	draw: drawFairShare,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.Count, l.PeriodUS = of.Count, of.PeriodUS
	},
	keys: []string{"{list}", "{list}:a", "{list}:b", "{list}c:a", `{list}c\:d`},
})

func drawFairShare(r *rand.Rand, l *model.Limit, opts Options) {
	drawBucket(r, l, Options{Big: opts.Big})
	l.Weight = pick(r, []int64{1, 1, 2, 7, 100})
	l.Nested = r.IntN(2) == 0
}
