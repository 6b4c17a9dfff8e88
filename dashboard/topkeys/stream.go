package topkeys

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSamples is the maximum number of events per second that are counted one by one. Above it, a random sample is
	// counted, and each event in it is weighted.
	maxSamples = 5_000
	// maxStride is the largest number of events that one sample represents.
	maxStride = 1 << 12
	// tuneEvery is the interval for adjusting the sampling rate.
	tuneEvery = 100 * time.Millisecond
)

// stream has the events of one kind: requests or denials.
type stream struct {
	seen atomic.Int64 // events
	next atomic.Int64 // the event to count next
	_    [48]byte     // the fields below rarely change

	mu           sync.Mutex
	stride       int64 // number of events that a sample represents
	tuned        time.Time
	tunedAt      int64 // value of seen at that time
	widest       int64 // the largest stride of the last hour
	widened      time.Time
	minute, hour window
}

func newStream() *stream {
	return &stream{stride: 1, widest: 1, minute: newWindow(10 * time.Second), hour: newWindow(10 * time.Minute)}
}

// add counts n events at an instant. It calls of for each sampled event, which returns the event's subject, or false
// if it does not count.
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
	// Another call can have skipped events before this one.
	next := max(s.next.Load(), end-int64(n))
	for next < end {
		if subject, ok := of(int(next-end+int64(n)), s.stride); ok && subject.valid() {
			s.minute.live.add(subject, s.stride)
			s.hour.live.add(subject, s.stride)
		}
		// From 1 to twice the stride less 1, which is the stride on average. Because it is random, no pattern of
		// requests can keep a key from being counted.
		next += 1 + rand.Int64N(2*s.stride-1)
	}
	s.next.Store(next)
}

// tune adjusts the stride to the rate of events.
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
