package script

import (
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

var _ = register(model.SlidingLog, drawing{draw: drawLog})

// drawLog draws short logs, for speed.
func drawLog(r *rand.Rand, l *model.Limit, opts Options) {
	if r.IntN(2) == 0 {
		l.Limit, l.WindowUS = 1+r.Int64N(pick(r, []int64{5, 20, 200})), drawPeriod(r, opts)
		return
	}
	us, limit := drawPeriod(r, opts), int64(0)
	for range 2 + r.IntN(2) {
		limit += 1 + r.Int64N(9)
		l.Windows = append(l.Windows, model.Window{Limit: limit, WindowUS: us})
		us *= 2 + r.Int64N(59)
	}
}
