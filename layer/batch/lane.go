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
	part  int // for a lane of a part that did not answer: the part's index
}

// laneOf returns the lane of a caller's operations, chosen by the strictest wait among them. Operations without a wait
// share a lane, apart from those on parts of the store that did not answer.
func (s *Store) laneOf(ops []engine.Op) *lane {
	r := engine.WaitFor(ops)
	if r.Count == 0 {
		if l := s.laneApart(ops); l != nil {
			return l
		}
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

// laneApart returns the lane of the operations' part of the store, if that part has its own.
func (s *Store) laneApart(ops []engine.Op) *lane {
	if len(s.apart) == 0 {
		return nil
	}
	for i := range ops {
		for charge := range ops[i].Charges {
			if l := s.apart[s.config.Lane(&ops[i], charge)]; l != nil {
				return l
			}
		}
	}
	return nil
}

// separate creates a separate lane for each part of the store that the operations use. The lane exists until the part
// answers. A call that ended without an answer does not show which of its parts is unavailable, and all later calls
// could contain operations on that part.
func (s *Store) separate(ops []engine.Op) {
	if s.config.Lane == nil || engine.WaitFor(ops).Count != 0 {
		return
	}
	for i := range ops {
		for charge := range ops[i].Charges {
			part := s.config.Lane(&ops[i], charge)
			if s.apart == nil {
				s.apart = map[int]*lane{}
			}
			if s.apart[part] == nil {
				s.apart[part] = &lane{part: part}
			}
		}
	}
}

// returned creates separate lanes for the parts of the store that did not answer operations of a call. If the store
// answered all of them, returned removes l, if l is such a lane.
func (s *Store) returned(l *lane, ops []engine.Op, results []engine.Result) {
	if s.config.Lane == nil {
		return
	}
	answered := true
	for i := range results {
		if err := results[i].Err; err != nil && engine.Away(err) {
			s.separate(ops[i : i+1])
			answered = false
		}
	}
	if answered && s.apart[l.part] == l {
		delete(s.apart, l.part)
	}
}
