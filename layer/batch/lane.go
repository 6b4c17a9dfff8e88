package batch

import "github.com/headgate/headgate/engine"

// lane holds operations that can share calls. The store's lock guards it.
type lane struct {
	queue queue
	calls int // in flight
	part  int // for a lane of a part that did not answer: the part's index
}

// eager is the number of calls that are made with any number of operations: two, so that the server has work while the
// answers of one call are read.
func (s *Store) eager() int { return min(2, s.config.InFlight) }

// due reports whether it is time for a call with the operations that wait in a lane. A third call keeps a server busy
// whose callers are slower than its network, and few operations would be better off in a call of many.
func (s *Store) due(l *lane) bool {
	waiting := l.queue.ops
	if l.calls < s.eager() {
		return waiting > 0
	}
	return l.calls < s.config.InFlight && 2*waiting >= s.config.MaxOps
}

// laneOf returns the lane of a caller's operations: the lane of their part of the store, if that part has its own.
func (s *Store) laneOf(ops []engine.Op) *lane {
	if len(s.lanes) == 0 {
		return &s.plain
	}
	for i := range ops {
		for charge := range ops[i].Charges {
			if l := s.lanes[s.config.Lane(&ops[i], charge)]; l != nil {
				return l
			}
		}
	}
	return &s.plain
}

// separate creates a separate lane for each part of the store that the operations use. The lane exists until the part
// answers. A call that ended without an answer does not show which of its parts is unavailable, and all later calls
// could contain operations on that part.
func (s *Store) separate(ops []engine.Op) {
	if s.config.Lane == nil {
		return
	}
	for i := range ops {
		for charge := range ops[i].Charges {
			part := s.config.Lane(&ops[i], charge)
			if s.lanes == nil {
				s.lanes = map[int]*lane{}
			}
			if s.lanes[part] == nil {
				s.lanes[part] = &lane{part: part}
			}
		}
	}
}

// returned creates separate lanes for the parts of the store that did not answer operations of a call. If the store
// answered all of them, returned removes l, if l is such a lane.
func (s *Store) returned(l *lane, ops []engine.Op, results []engine.Answer) {
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
	if answered && s.lanes[l.part] == l {
		delete(s.lanes, l.part)
	}
}
