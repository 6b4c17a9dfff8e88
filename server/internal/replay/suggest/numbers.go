package suggest

import (
	"math"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// steps are the leading digits of round numbers.
var steps = []int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80}

// roundUp returns the smallest round number that is at least n: 1 to 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80,
// 100, and so on.
func roundUp(n int64) int64 {
	for _, small := range []int64{1, 2, 3, 4, 5, 6, 8, 10} {
		if n <= small {
			return small
		}
	}
	for scale := int64(1); scale < math.MaxInt32; scale *= 10 {
		for _, s := range steps {
			if n <= s*scale {
				return s * scale
			}
		}
	}
	return n
}

// headroom returns one and a half times n, because other days may be busier.
func headroom(n int64) int64 { return n + (n+1)/2 }

// rates are the rates to try, in ascending order.
var rates = func() (all []engine.Rate) {
	for _, n := range []int64{1, 2, 3, 5, 6, 10, 12, 15, 20, 30, 40} {
		all = append(all, rule.PerMinute(n))
	}
	for _, n := range []int64{1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 50, 80, 100, 150, 200, 300, 400, 500, 800, 1000, 2000, 3000, 5000, 10_000, 20_000, 50_000, 100_000} {
		all = append(all, rule.PerSecond(n))
	}
	return all
}()

// perSecond returns a rate in units per second.
func perSecond(r engine.Rate) float64 { return float64(r.Count) / r.Period.Seconds() }

// windowText formats the length of a window, as in 1m or 1d.
func windowText(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return "1d"
	case d%time.Hour == 0:
		return "1h"
	case d%time.Minute == 0:
		return "1m"
	default:
		return d.String()
	}
}
