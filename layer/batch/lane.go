package batch

import "github.com/headgate/headgate/engine"

// maxLanes bounds the lanes of operations that wait for replicas. Programs name a few
// different waits, one for each policy at most. Operations with still others share one lane.
const maxLanes = 16

// lane is operations that share calls: they wait for the same replicas, for equally long.
// The store's lock guards it.
type lane struct {
	queue queue
	calls int // in flight
}

// laneOf returns the lane of a caller's operations: by what the strictest of them waits for.
func (s *Store) laneOf(ops []engine.Op) *lane {
	r := engine.WaitFor(ops)
	if r.Count == 0 {
		return &s.plain
	}
	if s.lanes == nil {
		s.lanes = map[engine.Replicas]*lane{}
	}
	if s.lanes[r] == nil && len(s.lanes) >= maxLanes {
		r = engine.Replicas{}
	}
	if s.lanes[r] == nil {
		s.lanes[r] = &lane{}
	}
	return s.lanes[r]
}
