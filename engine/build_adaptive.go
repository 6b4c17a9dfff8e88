package engine

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// The ranges and defaults of an adaptive rate. The scripts of the Redis store compute exactly within these ranges.
const (
	fastestAdaptive = 100_000_000 // units per window
	longestAdaptive = time.Hour   // the window

	leastInterval, longestInterval = 100 * time.Millisecond, time.Minute
	defaultInterval                = time.Second
	intervalAccepted               = "100ms to 1m, in whole microseconds"

	defaultFailures  = 5
	failuresAccepted = "0 to 99 percent"

	longestPause    = time.Hour
	defaultMaxPause = time.Minute
)

// adaptiveRate checks an adaptive rate: the rate at the start, its bounds, and the numbers of its steps.
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
	n.Count, n.Period, n.Burst = r.Count, r.Period.Microseconds(), r.Count
	if d.has("burst") {
		n.Burst = d.of("burst").Units
	}
	if err := checkUnits("burst", n.Burst); err != nil {
		return err
	}
	n.Min, n.Max = d.of("min").Units, d.of("max").Units
	switch {
	case !d.has("min"):
		return invalid("min", remark("not set"), fmt.Sprintf("min and max on adaptive-rate: units per window, such as min %d max %d", max(1, r.Count/10), min(fastestAdaptive, 2*r.Count)))
	case !d.has("max"):
		return invalid("max", remark("not set"), fmt.Sprintf("%d to %d units per window, on adaptive-rate", r.Count, fastestAdaptive))
	case n.Min < 1 || n.Min > r.Count:
		return invalid("min", n.Min, fmt.Sprintf("1 to %d, the rate at the start", r.Count))
	case n.Max < r.Count || n.Max > fastestAdaptive:
		return invalid("max", n.Max, fmt.Sprintf("%d, the rate at the start, to %d", r.Count, fastestAdaptive))
	}
	if err := d.steps(n); err != nil {
		return err
	}
	// Another version of the limit may have any rate, down to this one.
	if most := longest.Microseconds() / n.Period; n.Burst > most {
		return invalid("burst", n.Burst, fmt.Sprintf("1 to %d on adaptive-rate, which refill within 36525d at 1 unit per window", most))
	}
	return nil
}

// steps checks when the rate moves.
func (d *draft) steps(n *algo.Limit) error {
	n.StepTime, n.Failures, n.MaxPause = defaultInterval.Microseconds(), defaultFailures, defaultMaxPause.Microseconds()
	if d.has("interval") {
		span := d.of("interval").Span
		if span < leastInterval || span > longestInterval || span%time.Microsecond != 0 {
			return invalid("interval", span, intervalAccepted)
		}
		n.StepTime = span.Microseconds()
	}
	if d.has("failures") {
		if n.Failures = d.of("failures").Units; n.Failures < 0 || n.Failures > 99 {
			return invalid("failures", n.Failures, failuresAccepted)
		}
	}
	if d.has("max_pause") {
		span := d.of("max_pause").Span
		if span < 0 || span > longestPause || span%time.Microsecond != 0 {
			return invalid("max_pause", span, fieldNamed("max_pause").Accepted)
		}
		n.MaxPause = span.Microseconds()
	}
	return nil
}
