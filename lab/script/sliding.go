package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.SlidingWindow, drawing{
	draw:   drawSliding,
	onGrid: func(r *rand.Rand, of model.Limit, l *model.Limit) { moveToSegments(r, l, grain(of)) },
	memory: func(l model.Limit) int64 { return span(l) + grain(l) },
	grain:  segmentOf,
})

// segmentOf returns the length of the limit's segments in µs.
func segmentOf(l model.Limit) int64 {
	switch {
	case l.SegmentUS > 0:
		return l.SegmentUS
	case l.Segments > 0:
		return l.WindowUS / l.Segments
	}
	return span(l)
}

func drawSliding(r *rand.Rand, l *model.Limit, opts Options) {
	l.Variant = pick(r, variants)
	if r.IntN(3) > 0 {
		l.Limit, l.WindowUS, l.Segments = drawCount(r, opts), drawPeriod(r, opts), pick(r, segments)
		if opts.Big && r.IntN(4) == 0 {
			l.Segments = model.MaxSegments
		}
		return
	}
	l.SegmentUS = pick(r, []int64{ms, 100 * ms, sec})
	k, limit, scale := int64(0), int64(0), int64(1)
	if opts.Big && r.IntN(2) == 0 {
		scale = model.MaxUnits / 30 // three windows can add up to 9 units each
	}
	for range 2 + r.IntN(2) {
		k, limit = k+1+r.Int64N(20), limit+1+r.Int64N(9)
		l.Windows = append(l.Windows, model.Window{Limit: limit * scale, WindowUS: k * l.SegmentUS})
	}
}

// moveToSegments gives a sliding window segments of the given length.
func moveToSegments(r *rand.Rand, l *model.Limit, us int64) {
	if len(l.Windows) == 0 {
		l.Segments = pick(r, segments)
		l.WindowUS = l.Segments * us
		return
	}
	for i := range l.Windows {
		l.Windows[i].WindowUS = l.Windows[i].WindowUS / l.SegmentUS * us
	}
	l.SegmentUS = us
}
