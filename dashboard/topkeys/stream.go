package topkeys

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSamples is how many events a second are counted one by one. Of more, a random
	// share is counted, each for several.
	maxSamples = 5_000
	// maxStride is how many events one sample stands for at most.
	maxStride = 1 << 12
	// tuneEvery is how often the share is chosen anew.
	tuneEvery = 100 * time.Millisecond
)

// stream is the events of one kind: requests, or refusals.
type stream struct {
	seen atomic.Int64 // events
	next atomic.Int64 // the event to count next
	_    [48]byte     // what follows changes seldom

	mu           sync.Mutex
	stride       int64 // how many events a sample stands for
	tuned        time.Time
	tunedAt      int64 // seen then
	widest       int64 // the largest stride of the last hour
	widened      time.Time
	minute, hour window
}

func newStream() *stream {
	return &stream{stride: 1, widest: 1, minute: newWindow(10 * time.Second), hour: newWindow(10 * time.Minute)}
}

// add counts n events at an instant. of is called with one that stands for several, and
// returns its subject, and false if it does not count.
func (s *stream) add(n int, now time.Time, of func(i int, counts int64) (Subject, bool)) {
	end := s.seen.Add(int64(n))
	if s.next.Load() >= end {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tune(now, end)
	s.minute.turn(now)
	s.hour.turn(now)
	// Another call can have passed over events before this one.
	next := max(s.next.Load(), end-int64(n))
	for next < end {
		if subject, ok := of(int(next-end+int64(n)), s.stride); ok && subject.valid() {
			s.minute.live.add(subject, s.stride)
			s.hour.live.add(subject, s.stride)
		}
		// From 1 to twice the stride less 1: the stride on average, and no pattern of
		// the requests can keep a key from being counted.
		next += 1 + rand.Int64N(2*s.stride-1)
	}
	s.next.Store(next)
}

// tune chooses the stride by the rate of events.
func (s *stream) tune(now time.Time, seen int64) {
	elapsed := now.Sub(s.tuned)
	if elapsed < tuneEvery {
		return
	}
	if !s.tuned.IsZero() {
		rate := float64(seen-s.tunedAt) / elapsed.Seconds()
		s.stride = min(max(int64(rate)/maxSamples, 1), maxStride)
	}
	if s.stride >= s.widest || now.Sub(s.widened) > time.Hour {
		s.widest, s.widened = s.stride, now
	}
	s.tuned, s.tunedAt = now, seen
}
