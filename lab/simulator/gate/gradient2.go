package gate

import "github.com/headgate/headgate/lab/simulator/model"

// Gradient2 is the Gradient2Limit of Netflix/concurrency-limits, in windows of one second. It multiplies the limit by
// the ratio of a long-term mean latency to the current latency (0.5 to 1, with a tolerance of 1.5), and adds 4 for a
// queue.
//
// Known faults: under mild overload the ratio stays near 1 and the added queue makes the limit grow forever
// (failsafe-go/failsafe-go#134). When all calls time out, the latency is constant, so the limit climbs
// (Netflix/concurrency-limits#137).
type Gradient2 struct {
	limit, Min, Max float64
	long            average
	window          window
}

// NewGradient2 returns a Gradient2 with default settings.
func NewGradient2() *Gradient2 {
	return &Gradient2{limit: 20, Min: 20, Max: 200, long: average{age: 600, warm: 10}}
}

// Limit returns the current limit on attempts in flight.
func (g *Gradient2) Limit() float64 { return g.limit }

// Observe adjusts the limit at the end of a window.
func (g *Gradient2) Observe(now int64, s model.Sample) {
	const tolerance, queue, smoothing = 1.5, 4, 0.2
	g.window.add(now, s)
	if !g.window.full(now, 1_000_000, 10) {
		return
	}
	short, inflight := g.window.mean(), g.window.inflight
	g.window.clear(now)
	long := g.long.add(short)
	// If the long-term mean is far above the current latency, an incident has just ended, so the mean decays faster.
	if long > 2*short {
		g.long.value *= 0.95
	}
	if float64(inflight) < g.limit/2 {
		return
	}
	gradient := min(max(tolerance*long/short, 0.5), 1)
	next := g.limit*gradient + queue
	g.limit = min(max(g.limit*(1-smoothing)+next*smoothing, g.Min), g.Max)
}
