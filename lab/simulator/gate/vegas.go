package gate

import (
	"math"
	"math/rand/v2"

	"github.com/headgate/headgate/lab/simulator/model"
)

// Vegas is the VegasLimit of Netflix/concurrency-limits, after TCP Vegas (Brakmo and Peterson 1995). It estimates the
// queue as limit·(1 − minRTT/RTT), and keeps it between 3 and 6 times the limit's decimal logarithm. After about
// 30·limit samples it measures the minimum again.
//
// Known faults: if the minimum is measured while there is a queue, it includes the queue, and the limit grows with it
// (Netflix/concurrency-limits#165). A single lucky sample lowers the minimum, and the limit falls below the number of
// workers (#37).
type Vegas struct {
	limit, Max float64
	// base is the minimum RTT in µs.
	base   float64
	probes int
	jitter float64
	random *rand.Rand
}

// NewVegas returns a Vegas with default settings.
func NewVegas(seed uint64) *Vegas {
	v := &Vegas{limit: 20, Max: 1000, random: rand.New(rand.NewPCG(seed, 1))}
	v.draw()
	return v
}

// draw draws the number of samples until the minimum is measured again: between half the interval and the whole
// interval.
func (v *Vegas) draw() { v.jitter = 0.5 + v.random.Float64()/2 }

// Limit returns the current limit on attempts in flight.
func (v *Vegas) Limit() float64 { return v.limit }

// Observe adjusts the limit, unless the sample changes the minimum RTT: a smaller sample lowers the minimum, and when
// the minimum is due to be measured again, the sample replaces it.
func (v *Vegas) Observe(_ int64, s model.Sample) {
	rtt := float64(s.RTT)
	v.probes++
	if float64(v.probes) >= v.jitter*30*v.limit {
		v.probes, v.base = 0, rtt
		v.draw()
		return
	}
	if v.base == 0 || rtt < v.base {
		v.base = rtt
		return
	}
	if step := max(1, math.Floor(math.Log10(v.limit))); s.Failed {
		v.limit -= step
	} else if float64(s.Inflight)*2 >= v.limit {
		v.limit += v.move(math.Ceil(v.limit*(1-v.base/rtt)), step)
	}
	v.limit = min(max(v.limit, 1), v.Max)
}

// move returns the change of the limit for an estimated queue length. The argument step is the limit's decimal
// logarithm, rounded down, and at least 1.
func (v *Vegas) move(queue, step float64) float64 {
	alpha, beta := 3*step, 6*step
	switch {
	case queue <= step:
		return beta
	case queue < alpha:
		return step
	case queue > beta:
		return -step
	default:
		return 0
	}
}
