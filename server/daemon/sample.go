package daemon

import (
	"sync"
	"time"
)

// sample lets at most so many lines of the log pass in a second, and counts the others.
type sample struct {
	most int

	mu    sync.Mutex
	since time.Time
	lines int
	left  int64
}

// room reports whether a line may be written now, and how many were not since the last one.
func (s *sample) room(now time.Time) (left int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= time.Second {
		s.since, s.lines = now, 0
	}
	if s.lines >= s.most {
		s.left++
		return 0, false
	}
	s.lines++
	left, s.left = s.left, 0
	return left, true
}
