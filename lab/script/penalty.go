package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

// A penalty reacts only to requests that another limit denies, so it occurs only together with other limits.
var _ = register(model.Penalty, drawing{
	draw: func(r *rand.Rand, l *model.Limit, opts Options) {
		l.Limit, l.WindowUS = pick(r, []int64{1, 2, 3, 5, 20}), drawPeriod(r, Options{})
		l.BlockUS = pick(r, []int64{ms, 3 * ms, sec, 60 * sec, 3_600 * sec})
		l.MaxBlockUS = l.BlockUS * pick(r, []int64{1, 2, 3, 32})
		l.ForgetUS = l.MaxBlockUS * pick(r, []int64{1, 1, 3})
		if opts.Big && r.IntN(2) == 0 {
			l.MaxBlockUS, l.ForgetUS = 366*day, 366*day
		}
	},
	beside: true,
})
