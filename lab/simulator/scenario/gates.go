package scenario

import (
	"slices"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/lab/simulator/gate"
	"github.com/headgate/headgate/lab/simulator/model"
)

// Gate is a gate under comparison. New creates a fresh gate for each run.
type Gate struct {
	Name, About string
	// Ours is true if the gate uses Headgate's own code.
	Ours bool
	New  func(seed uint64, tenants int) (model.Gate, error)
}

// Settings without a default. They are chosen for a server that can handle 100 requests per second.
const (
	fixedLimit      = 20
	aimdTimeout     = 5 * mean
	adaptiveLatency = 350 * time.Millisecond
	poolLimit       = "95/s burst 20"
	// loadBound is 2.5 per worker, because Sentinel's wiki recommends 2.5 per core.
	loadBound = 25
	cpuBound  = 0.9
)

// Gates returns the gates that are compared in every scenario.
func Gates() []Gate {
	return []Gate{
		{Name: "none", About: "no limit", New: func(uint64, int) (model.Gate, error) { return gate.None{}, nil }},
		{Name: "fixed 20", About: "Headgate's concurrency limit", Ours: true, New: fixed(fixedLimit)},
		{Name: "bucket 95/s", About: "Headgate's token bucket, " + poolLimit, Ours: true, New: bucket(poolLimit, "")},
		{Name: "Headgate", About: "package adaptive, latency 350 ms", Ours: true, New: func(uint64, int) (model.Gate, error) {
			return gate.NewHeadgate(adaptive.Config{Min: 5, Max: 200, Start: 20, Latency: adaptiveLatency})
		}},
		{Name: "AIMD", About: "Netflix concurrency-limits, latency bound 500 ms", New: controlled(func(uint64) gate.Controller { return gate.NewAIMD(aimdTimeout) })},
		{Name: "Vegas", About: "Netflix concurrency-limits", New: controlled(func(seed uint64) gate.Controller { return gate.NewVegas(seed) })},
		{Name: "Gradient2", About: "Netflix concurrency-limits", New: controlled(func(uint64) gate.Controller { return gate.NewGradient2() })},
		{Name: "failsafe-go", About: "its adaptive limiter, without the queue", New: controlled(func(uint64) gate.Controller { return gate.NewFailsafe() })},
		{Name: "Sentinel load", About: "system rule, load average above 25", New: func(uint64, int) (model.Gate, error) { return gate.NewSentinel(loadBound, 0), nil }},
		{Name: "Sentinel CPU", About: "system rule, CPU use above 90 %", New: func(uint64, int) (model.Gate, error) { return gate.NewSentinel(0, cpuBound), nil }},
		{Name: "go-zero", About: "adaptive shedder", New: func(uint64, int) (model.Gate, error) { return gate.NewGoZero(), nil }},
	}
}

func fixed(n int64) func(uint64, int) (model.Gate, error) {
	return func(uint64, int) (model.Gate, error) { return gate.NewFixed(n) }
}

func bucket(pool, tenant string) func(uint64, int) (model.Gate, error) {
	return func(_ uint64, tenants int) (model.Gate, error) { return gate.NewBucket(pool, tenant, tenants) }
}

func controlled(controller func(seed uint64) gate.Controller) func(uint64, int) (model.Gate, error) {
	return func(seed uint64, _ int) (model.Gate, error) { return gate.NewAdaptive(controller(seed)), nil }
}

func (s *Scenario) gates() []Gate { return slices.Concat(Gates(), s.Extra) }
