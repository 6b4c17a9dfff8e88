package engine

import (
	"fmt"
	"math/bits"

	"github.com/headgate/headgate/engine/algo"
)

func (d *draft) tokenBucket(l *spec) error {
	n := &l.numbers
	if err := d.rate(l); err != nil {
		return err
	}
	if n.NextPays {
		if d.has("debt") {
			return invalid("debt", d.of("debt").Units, "no debt with next_pays, which has no bound but 100 years")
		}
		n.Queue = n.Most()
		return checkRefill("burst", l, n.Burst, 0)
	}
	return checkRefill("debt", l, n.Burst, n.Queue)
}

// rate checks the rate of a limit that refills, and sets the rate and the fields.
func (d *draft) rate(l *spec) error {
	r, n := d.rates[0], &l.numbers
	if err := checkRate(r); err != nil {
		return err
	}
	n.Count, n.Period, l.scale = algo.Reduce(r.Count, r.Period.Microseconds())
	return d.numbers(l)
}

// warmUp checks a warm-up. The ramp must be at least one unit long, or the limit would never be cold.
func (d *draft) warmUp(l *spec) error {
	n := &l.numbers
	if err := d.rate(l); err != nil {
		return err
	}
	over := Micros(n.WarmUp)
	if ramp := n.Ramp(); ramp < 1 || ramp > algo.MaxUnits {
		return invalid("warm_up", over, fmt.Sprintf("the time of 2 to %d units at %s", 2*algo.MaxUnits, l.rate(0)))
	}
	if span, ok := refill(l, n.Burst, n.Ramp()); !ok || span > longest.Microseconds() {
		return invalid("warm_up", over, "what refills with the burst within 36525d at "+l.rate(0).String())
	}
	return nil
}

// fairShare checks a fair-share limit. Stores divide its burst among the keys that send requests, in fractions of a
// unit.
func (d *draft) fairShare(l *spec) error {
	n := &l.numbers
	if err := d.rate(l); err != nil {
		return err
	}
	if most := mostDividedBy(n); n.Burst < LeastDivided || n.Burst > most {
		return invalid("burst", n.Burst, fmt.Sprintf("%d to %d on fair-share: among more than burst − 1 keys none has a unit", LeastDivided, most))
	}
	return checkRefill("burst", l, n.Burst, 0)
}

// fairPacer checks a fair pacer. Stores divide the sum of its burst and queue, as they divide a fair share's burst.
func (d *draft) fairPacer(l *spec) error {
	n := &l.numbers
	if err := d.rate(l); err != nil {
		return err
	}
	if n.HasQueue = d.has("max_queue"); !n.HasQueue {
		return invalid("max_queue", remark("not set"), "a number of units on a fair-pacer")
	}
	most := mostDividedBy(n) - n.Burst
	if most < 1 {
		return invalid("burst", n.Burst, fmt.Sprintf("1 to %d on fair-pacer", mostDividedBy(n)-1))
	}
	if least := max(1, LeastDivided-n.Burst); n.Queue < least || n.Queue > most {
		return invalid("max_queue", n.Queue, fmt.Sprintf("%d to %d on fair-pacer with burst %d: with a smaller sum some keys never have a unit", least, most, n.Burst))
	}
	return checkRefill("max_queue", l, n.Burst, n.Queue)
}

// mostDividedBy returns the largest number of units that the limit can divide among keys.
func mostDividedBy(n *algo.Limit) int64 {
	if n.Nested {
		return mostDivided / 2
	}
	return mostDivided
}

// MaxWeight is the largest weight of a key in a limit that divides its units among keys.
const MaxWeight = 100

// LeastDivided is the smallest burst, or number of permits, that a limit can divide among keys.
const LeastDivided = 10

// mostDivided is the largest burst, or number of permits, that a limit can divide among keys. A nested limit calculates
// with numbers that are 8 times as large, and scripts are exact only up to 2^53.
const mostDivided = 1 << 36

func (d *draft) pacer(l *spec) error {
	n := &l.numbers
	if err := d.rate(l); err != nil {
		return err
	}
	n.HasQueue, n.HasWait = d.has("max_queue"), d.has("max_wait")
	if !n.HasQueue && !n.HasWait {
		return invalid("max_wait", remark("not set"), "max_wait, such as 10s, or max_queue on a pacer")
	}
	if err := checkRefill("burst", l, n.Burst, 0); err != nil {
		return err
	}
	// The shorter of max_wait and max_queue decides, so the longer one needs no bound.
	queued, fits := refill(l, 0, n.Queue)
	if n.HasWait && (!n.HasQueue || !fits || n.MaxWait < queued) {
		if full, _ := refill(l, n.Burst, 0); full+n.MaxWait > longest.Microseconds() {
			return invalid("max_wait", Micros(n.MaxWait), "with the refill of the burst at most 36525d")
		}
		return nil
	}
	return checkRefill("max_queue", l, n.Burst, n.Queue)
}

// refill returns the time to refill burst and more tokens together, in µs, rounded up. ok is false if the result
// exceeds 64 bits.
func refill(l *spec, burst, more int64) (span int64, ok bool) {
	return ceilOver(burst+more, l.numbers.Period, l.numbers.Count)
}

// ceilOver returns ⌈a·b/by⌉, but at most 2^62. ok is false if the result exceeds 64 bits.
func ceilOver(a, b, by int64) (quotient int64, ok bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(by) {
		return 0, false
	}
	whole, rest := bits.Div64(hi, lo, uint64(by))
	if rest > 0 {
		whole++
	}
	return int64(min(whole, 1<<62)), true
}

// checkRefill returns an error for a bucket that takes more than 100 years to fill. The error names the number that
// is too large.
func checkRefill(more string, l *spec, burst, extra int64) error {
	if span, ok := refill(l, burst, 0); !ok || span > longest.Microseconds() {
		return invalid("burst", burst, "a burst that refills within 36525d at "+l.rate(0).String())
	}
	if span, ok := refill(l, burst, extra); !ok || span > longest.Microseconds() {
		return invalid(more, extra, "with the burst, what refills within 36525d at "+l.rate(0).String())
	}
	return nil
}
