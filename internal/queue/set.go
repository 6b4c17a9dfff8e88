package queue

import (
	"sync"
	"sync/atomic"
)

// Set contains queues by name. A queue exists as long as it has waiters. The zero value is empty. A Set is safe for
// concurrent use. A name must not change while its queue exists, so clone a string that uses borrowed memory.
type Set[N comparable, S, W any] struct {
	queues atomic.Int64
	mu     sync.Mutex
	byName map[N]*Queue[S, W]
}

// None reports whether there are no waiters for a name.
func (s *Set[N, S, W]) None(name N) bool {
	if s.queues.Load() == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name] == nil
}

// Len returns the number of names that have waiters.
func (s *Set[N, S, W]) Len() int { return int(s.queues.Load()) }

// Do runs a short function on the queue for a name, under the set's lock. If there are no waiters, the queue is new.
func (s *Set[N, S, W]) Do(name N, do func(*Queue[S, W])) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, known := s.byName[name]
	if !known {
		q = &Queue[S, W]{}
	}
	do(q)
	switch waits := q.Len() > 0; {
	case waits == known:
	case waits:
		if s.byName == nil {
			s.byName = map[N]*Queue[S, W]{}
		}
		s.byName[name] = q
		s.queues.Add(1)
	default:
		delete(s.byName, name)
		s.queues.Add(-1)
	}
}

// WakeAll wakes every waiter in the queue for a name.
func (s *Set[N, S, W]) WakeAll(name N) {
	if s.None(name) {
		return
	}
	s.Do(name, (*Queue[S, W]).WakeAll)
}
