package topkeys

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxSamples is the maximum number of events per second that are all counted. Above it, only a random sample is
	// counted, and each event in the sample represents several events.
	maxSamples = 5_000
	// maxStride is the maximum number of events that one sample represents.
	maxStride = 1 << 12
	// tuneEvery is the interval for adjusting the sampling rate.
	tuneEvery = 100 * time.Millisecond
)

// stream counts the events of one kind, such as denials, for the last minute and hour.
type stream struct {
	seen atomic.Int64 // number of events
	next atomic.Int64 // number of the event to count next
	_    [48]byte     // the fields below rarely change

	mu           sync.Mutex
	stride       int64 // number of events that a sample represents
	tuned        time.Time
	tunedAt      int64 // value of seen at that time
	widest       int64 // largest stride in the last hour
	widened      time.Time
	minute, hour window
}

func newStream() *stream {
	return &stream{stride: 1, widest: 1, minute: newWindow(10 * time.Second), hour: newWindow(10 * time.Minute)}
}

// add counts n events at the time now. It calls the function of for each sampled event with the event's index and the
// number of events that the sample represents. The function returns the event's subject, or false if the event does
// not count.
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
	// Another call may have skipped events before this one.
	next := max(s.next.Load(), end-int64(n))
	for next < end {
		if subject, ok := of(int(next-end+int64(n)), s.stride); ok && subject.valid() {
			s.minute.live.add(subject, s.stride)
			s.hour.live.add(subject, s.stride)
		}
		// The step is a random number from 1 to 2·stride-1, whose mean is the stride. Because it is random, no pattern
		// of requests can prevent a key from being counted.
		next += 1 + rand.Int64N(2*s.stride-1)
	}
	s.next.Store(next)
}

// tune adjusts the stride to the rate of events since the last adjustment. The argument seen is the number of events so
// far.
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
