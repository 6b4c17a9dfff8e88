package gate

import "github.com/headgate/headgate/lab/simulator/model"

// GoZero is the adaptive load shedder of zeromicro/go-zero. It sheds load while the smoothed CPU use is at least
// 90 %, and for a second afterwards if it has denied an attempt. While it sheds load, it denies an attempt if both
// the number of attempts in flight and the smoothed number in flight exceed a bound. The bound is highest rate ×
// lowest mean latency over 5 s, scaled down to as little as a tenth as the CPU use approaches 100 %.
// https://go-zero.dev/docs/components/resilience/load-shedding
//
// Known faults: a server that waits for a dependency has idle CPUs, so nothing is shed. At full CPU, the factor cuts
// far into the server's capacity (compare zeromicro/go-zero#4265: denials while CPUs are idle).
type GoZero struct {
	cpu    float64
	flying float64
	passed ring
	// dropped is true if an attempt was denied since the CPU use was last below the threshold. busy is the time when
	// the CPU use was last above it.
	dropped bool
	busy    int64
	now     int64
}

// The settings of the shedder.
const (
	shedCPU  = 0.9
	coolOff  = 1_000_000
	shedPart = 100_000
	parts    = 50
)

// NewGoZero returns a shedder with default settings.
func NewGoZero() *GoZero { return &GoZero{passed: newRing(shedPart, parts)} }

// Tick updates the smoothed CPU use with a reading for the server's process group.
func (g *GoZero) Tick(_ int64, l model.Load) { g.cpu = 0.95*g.cpu + 0.05*l.Own }

// bound returns the number of attempts that may be in flight while the gate sheds load.
func (g *GoZero) bound(now int64) float64 {
	most, least := 1.0, 1e6
	g.passed.each(now, false, func(b *bucket) {
		most, least = max(most, float64(b.passed)), min(least, b.sum/float64(b.passed))
	})
	factor := min(max((1-g.cpu)/(1-shedCPU), 0.1), 1)
	return max(1, most*1e6/shedPart*least/1e6) * factor
}

// sheds reports whether the gate sheds load: the CPU is busy, or it was busy recently and attempts were denied.
func (g *GoZero) sheds(now int64) bool {
	return g.cpu >= shedCPU || g.dropped && now-g.busy < coolOff
}

// Limit returns the bound while the gate sheds load. At other times it returns 0 for no limit.
func (g *GoZero) Limit() float64 {
	if !g.sheds(g.now) {
		return 0
	}
	return g.bound(g.now)
}

// Allow denies an attempt if the gate sheds load and both numbers in flight exceed the bound.
func (g *GoZero) Allow(now int64, a model.Attempt) (bool, int64) {
	g.now = now
	if g.cpu >= shedCPU {
		g.busy = now
	}
	if !g.sheds(now) {
		g.dropped = false
		return true, 0
	}
	if bound := g.bound(now); g.flying > bound && float64(a.Inflight-1) > bound {
		g.dropped = true
		return false, 0
	}
	return true, 0
}

// Done counts a successful attempt, and updates the smoothed number in flight.
func (g *GoZero) Done(now int64, s model.Sample) {
	if !s.Failed {
		g.passed.add(now, s.RTT)
	}
	g.flying = 0.9*g.flying + 0.1*float64(s.Left)
}
