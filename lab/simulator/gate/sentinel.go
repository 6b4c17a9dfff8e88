package gate

import "github.com/headgate/headgate/lab/simulator/model"

// Sentinel is the system rule of alibaba/Sentinel. While the load average is above a bound, it denies an attempt if the
// number in flight exceeds highest rate × lowest latency over the last second. While the CPU use is above a bound, it
// denies everything. https://github.com/alibaba/Sentinel/wiki/Adaptive-System-Protection
//
// Known faults: under load, even the lowest latency of a second includes time in the queue. The product of rate and
// latency is then high enough to sustain the queue, and the minimum never drops back. The CPU use is the maximum of the
// process's and the host's, so other processes on the host can trip the rule.
type Sentinel struct {
	// MaxLoad bounds the load average. MaxCPU, between 0 and 1, bounds the CPU use. 0 means no bound.
	MaxLoad, MaxCPU float64

	load1, cpu float64
	passed     ring
	next       int64
}

// NewSentinel returns a rule with the given bounds. Sentinel's wiki recommends a load of 2.5 per core.
func NewSentinel(maxLoad, maxCPU float64) *Sentinel {
	return &Sentinel{MaxLoad: maxLoad, MaxCPU: maxCPU, passed: newRing(500_000, 2)}
}

// loadEvery is the interval between Linux's updates of the load average, in µs. loadDecay is the weight of the
// previous value in the one-minute average, e^(−5/60).
const (
	loadEvery = 5_000_000
	loadDecay = 0.92004
)

// Tick updates the load average, and once a second the CPU use.
func (g *Sentinel) Tick(now int64, l model.Load) {
	if now%1_000_000 == 0 {
		g.cpu = max(l.Own, l.Host)
	}
	if now >= g.next {
		g.load1 = g.load1*loadDecay + l.Runnable*(1-loadDecay)
		g.next = now + loadEvery
	}
}

// Limit returns rate × latency while the load average is above its bound. At other times it returns 0 for no limit.
func (g *Sentinel) Limit() float64 {
	if g.MaxLoad == 0 || g.load1 <= g.MaxLoad {
		return 0
	}
	return g.capacity(g.next)
}

// capacity returns the highest rate times the lowest latency. If no attempt has ended, it uses a latency of 5 s.
func (g *Sentinel) capacity(now int64) float64 {
	most, least := 0.0, 5e6
	g.passed.each(now, true, func(b *bucket) {
		most, least = max(most, 2*float64(b.passed)), min(least, b.least)
	})
	return most * least / 1e6
}

// Allow denies an attempt if the CPU use is above its bound or if, while the load is above its bound, more than one other
// attempt is in flight and their number exceeds the capacity.
func (g *Sentinel) Allow(now int64, a model.Attempt) (bool, int64) {
	if g.MaxCPU > 0 && g.cpu > g.MaxCPU {
		return false, 0
	}
	if g.MaxLoad == 0 || g.load1 <= g.MaxLoad {
		return true, 0
	}
	return a.Inflight <= 2 || float64(a.Inflight-1) <= g.capacity(now), 0
}

// Done counts a successful attempt and its latency.
func (g *Sentinel) Done(now int64, s model.Sample) {
	if !s.Failed {
		g.passed.add(now, s.RTT)
	}
}
