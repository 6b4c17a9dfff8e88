package batch

import "github.com/headgate/headgate/engine"

// maxLanes bounds the number of lanes for operations that wait for replicas. Programs use only a few different waits,
// at most one for each policy. Once maxLanes exist, operations with any other wait share one lane.
const maxLanes = 16

// lane holds operations that can share calls, because they wait for the same number of replicas, with the same time
// limit. The store's lock guards it.
type lane struct {
	queue queue
	calls int // in flight
}

// laneOf returns the lane of a caller's operations, chosen by the strictest wait among them.
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
