package migrating

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate"
)

// warmingUp does the arithmetic that Guava documents for SmoothWarmingUp. Idle time stores permits, up to the number
// that the warm-up time yields. Stored permits cost more, and in the upper half up to three times as much. A request's
// price is the area under this price curve.
type warmingUp struct{ rate, warmUp, stored, free float64 }

func (g *warmingUp) acquire(now float64) (wait float64) {
	most := g.warmUp * g.rate
	if now > g.free {
		g.stored, g.free = min(most, g.stored+(now-g.free)*g.rate), now
	}
	wait = max(0, g.free-now)
	price := func(stored float64) float64 { // price of all permits up to this one
		above := max(0, stored-most/2)
		return stored/g.rate + above*above*2/(most*g.rate)
	}
	taken := min(1, g.stored)
	g.free += price(g.stored) - price(g.stored-taken) + (1-taken)/g.rate
	g.stored -= taken
	return wait
}

// TestGuavaWarmUpTable computes both results in each row of the warm-up table.
func TestGuavaWarmUpTable(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, "../../../../docs/migrating-from-guava.md", 1, "| rate | warm-up | requests | Guava | Headgate |") {
		t.Run(row[0]+" over "+row[1]+" s: "+row[2], func(t *testing.T) {
			var rate, warmUp int
			if _, err := fmt.Sscan(row[0]+" "+row[1], &rate, &warmUp); err != nil {
				t.Fatal(err)
			}
			g, now := &warmingUp{rate: float64(rate), warmUp: float64(warmUp), stored: float64(rate * warmUp)}, 0.0
			guava := each(t, row[2], func(float64, float64) string {
				wait := g.acquire(now)
				now += wait
				return inSeconds(wait)
			}, func(_ string, x float64) { now += x })
			if guava != row[3] {
				t.Errorf("Guava waits %s, the page says %s", guava, row[3])
			}
			if ours := warmUpAnswers(t, rate, warmUp, row[2]); ours != row[4] {
				t.Errorf("Headgate waits %s, the page says %s", ours, row[4])
			}
		})
	}
}

// warmUpAnswers requests units in the same way as Wait: it retries after each retry-after.
func warmUpAnswers(t *testing.T, rate, warmUp int, steps string) string {
	limiter, clock := onClock(t)
	p := limiter.Policy("calls", headgate.WarmUp{Rate: headgate.PerSecond(int64(rate)), Over: time.Duration(warmUp) * time.Second})
	return each(t, steps, func(float64, float64) string {
		wait := time.Duration(0)
		for {
			d, err := p.Allow(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				return inSeconds(wait.Seconds())
			}
			wait += d.RetryAfter
			clock.Advance(d.RetryAfter)
		}
	}, func(_ string, x float64) { clock.Advance(time.Duration(x * float64(time.Second))) })
}
