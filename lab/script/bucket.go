package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.TokenBucket, drawing{draw: drawBucket})

var _ = register(model.Pacer, drawing{
	draw: drawBucket,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.Count, l.PeriodUS = of.Count, of.PeriodUS
	},
	memory: func(l model.Limit) int64 {
		if l.MaxQueue == nil {
			return refill(l, l.Burst) + *l.MaxWaitUS
		}
		return refill(l, capacity(l))
	},
})

func drawBucket(r *rand.Rand, l *model.Limit, opts Options) {
	l.Count, l.PeriodUS, l.Burst = drawCount(r, opts), drawPeriod(r, opts), pick(r, bursts)
	switch {
	case r.IntN(3) == 0:
		l.Burst = l.Count
	case opts.Big && r.IntN(2) == 0:
		l.Burst = drawCount(r, opts)
	}
	switch {
	case l.Algorithm == model.Pacer:
		drawQueue(r, l, opts)
		l.NextPays = opts.Extras && r.IntN(3) == 0
	case opts.Extras && r.IntN(3) == 0:
		l.NextPays = true
	case opts.Extras && r.IntN(2) == 0:
		l.Debt = pick(r, []int64{1, 2, 10, l.Burst})
	}
}

// drawQueue draws a pacer's longest queue, longest wait, or both.
func drawQueue(r *rand.Rand, l *model.Limit, opts Options) {
	if r.IntN(3) > 0 {
		l.MaxQueue = new(pick(r, []int64{0, 1, 2, 5, 20}))
		if opts.Big && r.IntN(4) == 0 {
			l.MaxQueue = new(drawCount(r, opts))
		}
	}
	if l.MaxQueue == nil || r.IntN(2) == 0 {
		l.MaxWaitUS = new(pick(r, []int64{0, 1, ms, sec / 3, sec, 60 * sec}))
	}
}
