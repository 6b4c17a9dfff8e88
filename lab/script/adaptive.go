package script

import (
	"math/rand/v2"
	"slices"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.AdaptiveRate, drawing{
	draw: drawAdaptive,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.PeriodUS = of.PeriodUS
	},
	memory: func(l model.Limit) int64 { // another version may have a rate as slow as one unit per period
		return l.Burst*l.PeriodUS + 600*l.IntervalUS + *l.MaxPauseUS
	},
})

func drawAdaptive(r *rand.Rand, l *model.Limit, opts Options) {
	l.Count, l.PeriodUS = pick(r, counts), pick(r, []int64{ms, 500 * ms, sec, 7 * sec, 60 * sec, 3_600 * sec})
	if opts.Big && r.IntN(2) == 0 {
		l.Count = pick(r, []int64{99_999_989, 100_000_000})
	}
	l.Min, l.Max = pick(r, []int64{1, l.Count - l.Count/3, l.Count}), pick(r, []int64{l.Count, l.Count + 1, 2 * l.Count, 100_000_000})
	l.IntervalUS = pick(r, []int64{100 * ms, 100*ms + 1, sec, 60 * sec})
	l.Failures, l.MaxPauseUS = new(pick(r, []int64{0, 5, 50, 99})), new(pick(r, []int64{0, 1, sec, 3_600 * sec}))
	if l.Burst = pick(r, bursts); r.IntN(3) == 0 {
		l.Burst = l.Count
	}
	if opts.Big && r.IntN(4) == 0 {
		l.Burst = drawCount(r, opts)
	}
}

// outcomes adds a random report to a step that supports one.
func (g *generator) outcomes(s *model.Step) {
	adapts := slices.ContainsFunc(g.made.LimitSets[s.Set], func(l model.Limit) bool { return l.Algorithm == model.AdaptiveRate })
	if !adapts || s.Op != model.Take && s.Op != model.AtMost && s.Op != model.Reserve || g.rand.IntN(3) == 0 {
		return
	}
	s.Report = &model.Outcomes{Good: pick(g.rand, []int64{0, 1, 9, 10, 95, 1 << 20})}
	if g.rand.IntN(3) == 0 {
		s.Report.Bad = pick(g.rand, []int64{1, 5, 6, 10, 1 << 20})
	}
	if g.rand.IntN(6) == 0 {
		s.Report.PauseUS = pick(g.rand, []int64{1, ms, sec, 366 * day})
	}
}
