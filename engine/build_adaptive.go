package engine

import (
	"fmt"
	"time"
)

// The bounds of an adaptive rate. Within them, the Redis store's scripts are exact.
const (
	fastestAdaptive = 100_000_000 // units per window
	longestAdaptive = time.Hour   // the window
)

// adaptiveRate checks an adaptive rate: the initial rate, the minimum and maximum, and the parameters of its changes.
func (d *draft) adaptiveRate(l *spec) error {
	n, r := &l.numbers, d.rates[0]
	if err := checkRate(r); err != nil {
		return err
	}
	if r.Period > longestAdaptive {
		return invalid("window", r.Period, "1ms to 1h, in whole microseconds, on adaptive-rate")
	}
	if r.Count > fastestAdaptive {
		return invalid("limit", r.Count, fmt.Sprintf("1 to %d on adaptive-rate", fastestAdaptive))
	}
	n.Count, n.Period = r.Count, r.Period.Microseconds()
	if !d.has("min") {
		return invalid("min", remark("not set"), fmt.Sprintf("min and max on adaptive-rate: units per window, such as min %d max %d", max(1, r.Count/10), min(fastestAdaptive, 2*r.Count)))
	}
	if err := d.numbers(l); err != nil {
		return err
	}
	// Another version of the limit can use any rate down to one unit per window. The burst must refill within 36525
	// days even at that rate.
	if most := longest.Microseconds() / n.Period; n.Burst > most {
		return invalid("burst", n.Burst, fmt.Sprintf("1 to %d on adaptive-rate, which refill within 36525d at 1 unit per window", most))
	}
	return nil
}
