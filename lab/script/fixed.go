package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.FixedWindow, drawing{
	draw: drawFixed,
	onGrid: func(_ *rand.Rand, of model.Limit, l *model.Limit) {
		l.WindowUS, l.Align, l.Calendar, l.Anchor = of.WindowUS, of.Align, of.Calendar, of.Anchor
	},
})

func drawFixed(r *rand.Rand, l *model.Limit, opts Options) {
	l.Limit, l.WindowUS, l.Align = drawCount(r, opts), drawPeriod(r, opts), pick(r, []string{"first", "clock"})
	if opts.Extras && r.IntN(2) == 0 {
		l.WindowUS, l.Align, l.Calendar = 0, pick(r, zones), pick(r, calendarUnits)
		if l.Calendar != "1m" && l.Calendar != "1h" {
			l.Anchor = pick(r, anchors)
		}
	}
}
