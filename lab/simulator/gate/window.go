package gate

import (
	"slices"

	"github.com/headgate/headgate/lab/simulator/model"
)

// window collects samples until it covers a minimum time span and contains a minimum number of samples.
type window struct {
	opened int64
	rtts   []float64
	// inflight is the largest number of attempts that were in flight when one of the samples started.
	inflight int
	failed   bool
}

// maxWindow is the maximum number of samples kept in a window.
const maxWindow = 4096

func (w *window) add(now int64, s model.Sample) {
	if len(w.rtts) == 0 && w.opened == 0 {
		w.opened = now
	}
	if len(w.rtts) < maxWindow {
		w.rtts = append(w.rtts, float64(s.RTT))
	}
	w.inflight = max(w.inflight, s.Inflight)
	w.failed = w.failed || s.Failed
}

// full reports whether the window has been open for at least span, in µs, and contains at least the given number of
// samples.
func (w *window) full(now, span int64, samples int) bool {
	return now-w.opened >= span && len(w.rtts) >= samples
}

func (w *window) mean() float64 {
	sum := 0.0
	for _, rtt := range w.rtts {
		sum += rtt
	}
	return sum / float64(max(len(w.rtts), 1))
}

// quantile returns the q-quantile of the samples in µs, or 0 without samples. It sorts the samples.
func (w *window) quantile(q float64) float64 {
	if len(w.rtts) == 0 {
		return 0
	}
	slices.Sort(w.rtts)
	return w.rtts[min(int(q*float64(len(w.rtts))), len(w.rtts)-1)]
}

func (w *window) clear(now int64) { *w = window{opened: now, rtts: w.rtts[:0]} }

// average is an exponentially weighted mean. The first values have equal weights.
type average struct {
	value float64
	seen  int
	// age is the number of values that the mean spans. warm is the number of initial values with equal weights.
	age, warm int
}

func (a *average) add(v float64) float64 {
	a.seen++
	if a.seen <= a.warm {
		a.value += (v - a.value) / float64(a.seen)
		return a.value
	}
	a.value += (v - a.value) * 2 / float64(a.age+1)
	return a.value
}
