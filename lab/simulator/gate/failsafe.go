package gate

import (
	"math"
	"slices"

	"github.com/headgate/headgate/lab/simulator/model"
)

// Failsafe is modelled on failsafe-go's adaptive limiter. It applies the queue estimate of Vegas to the p90 of windows,
// with a smoothed baseline. Guards compare how in-flight attempts, throughput and latency move together. The original's
// prioritized queue of callers is omitted: if no permits are left, Failsafe denies a call.
// https://failsafe-go.dev/adaptive-limiter/
//
// Known fault: in a long incident the baseline adapts to the degraded latency (failsafe-go/failsafe-go#127).
type Failsafe struct {
	limit, Min, Max float64
	// full is true if no permits were left at the end of the window.
	full         bool
	window       window
	medians      []float64
	recent, base average
	// span is the minimum length of the window in µs.
	span int64

	inflights, throughputs, rtts []float64
}

// medianOf and historyOf are the lengths of the histories, in windows. minSamples and minSpan (in µs) are the minimum
// size of a window.
const (
	medianOf   = 5
	historyOf  = 50
	minSamples = 50
	minSpan    = 1_000_000
)

// NewFailsafe returns a limiter with default settings.
func NewFailsafe() *Failsafe {
	return &Failsafe{limit: 20, Min: 1, Max: 200, recent: average{age: 5, warm: 1}, base: average{age: 10, warm: 1}, span: minSpan}
}

// Limit returns the current limit on attempts in flight.
func (f *Failsafe) Limit() float64 { return f.limit }

// Observe adds a sample, and adjusts the limit at the end of each window. A window contains at least 50 samples. It
// lasts at least 1 s, or twice as long as the fastest attempt of the previous window, whichever is longer.
func (f *Failsafe) Observe(now int64, s model.Sample) {
	f.window.add(now, s)
	if !f.window.full(now, f.span, minSamples) {
		return
	}
	inflight := float64(f.window.inflight)
	f.medians = pushed(f.medians, f.window.quantile(0.9), medianOf)
	f.span = max(minSpan, 2*int64(f.window.quantile(0)))
	sorted := slices.Sorted(slices.Values(f.medians))
	recent := f.recent.add(sorted[len(sorted)/2])
	base := f.base.add(recent)
	f.inflights = pushed(f.inflights, inflight, historyOf)
	f.rtts = pushed(f.rtts, recent, historyOf)
	f.throughputs = pushed(f.throughputs, inflight/recent, historyOf)

	step := max(1, math.Log10(f.limit))
	f.full = s.Left+1 >= int(f.limit)
	next := f.limit + step*f.direction(math.Ceil(f.limit*(1-base/recent)), step)
	// A limit far above the actual use is lowered again.
	if next > 5*inflight {
		next = f.limit - step
	}
	f.limit = min(max(next, f.Min), f.Max)
	f.window.clear(now)
}

// direction returns whether to lower the limit (-1), keep it (0) or raise it (1). The first condition that is met
// decides.
func (f *Failsafe) direction(queue, step float64) float64 {
	throughput := correlation(f.inflights, f.throughputs)
	rtt := correlation(f.inflights, f.rtts)
	switch {
	case queue > 6*step,
		f.full && throughput < 0,
		f.full && throughput < 0.3 && rtt > 0.5,
		f.full && variation(f.throughputs) < 0.2 && rtt > 0.5:
		return -1
	case queue < 3*step:
		return 1
	default:
		return 0
	}
}

// pushed appends a value to a list, and drops the oldest one if the list would exceed n values.
func pushed(list []float64, v float64, n int) []float64 {
	if len(list) == n {
		copy(list, list[1:])
		list = list[:n-1]
	}
	return append(list, v)
}
