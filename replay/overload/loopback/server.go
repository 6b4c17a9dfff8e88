package loopback

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/headgate/headgate/replay/overload/model"
)

// server serves requests in the same way as the model: with a gate, a FIFO queue and workers.
type server struct {
	config  *model.Config
	started time.Time
	// workers is a semaphore for requests being served. Go unblocks senders in order of arrival.
	workers chan struct{}

	mu       sync.Mutex
	gate     model.Gate
	random   *rand.Rand
	inflight int
	slots    []int32 // unused slots
	used     int32
	late     time.Duration // by how much the sleeps were too long in total
}

func newServer(c *model.Config, g model.Gate) *server {
	workers := int(c.Server.Workers.At(0))
	return &server{
		config: c, started: time.Now(), workers: make(chan struct{}, max(1, workers)), gate: g, random: rand.New(rand.NewPCG(c.Seed, 3)),
	}
}

func (s *server) now() int64 { return time.Since(s.started).Microseconds() }

// ServeHTTP completes a request even if its client has given up.
func (s *server) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a, start, ok := s.enter()
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.workers <- struct{}{}
	s.serve()
	<-s.workers
	s.leave(a, start)
	w.WriteHeader(http.StatusOK)
}

// enter requests admission from the gate.
func (s *server) enter() (a model.Attempt, start int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a = model.Attempt{Inflight: s.inflight + 1, Slot: s.used}
	free := len(s.slots)
	if free > 0 {
		a.Slot = s.slots[free-1]
	}
	start = s.now()
	if ok, _ = s.gate.Allow(start, a); !ok {
		return a, start, false
	}
	if free > 0 {
		s.slots = s.slots[:free-1]
	} else {
		s.used++
	}
	s.inflight++
	return a, start, true
}

// serve sleeps for as long as the request takes. Timers fire late, by a millisecond on a busy machine. To keep the
// workers' throughput equal to the model's, the next request sleeps for that much less.
func (s *server) serve() {
	work := s.work()
	began := time.Now()
	time.Sleep(work)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late += time.Since(began) - work
}

// work draws the service time of the next request.
func (s *server) work() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.config.Server.Service.Draw(s.random)
	if slow := s.config.Server.Slowdown.At(s.now()); slow > 0 {
		us *= slow
	}
	work := time.Duration(us) * time.Microsecond
	paid := min(s.late, work)
	s.late -= paid
	return work - paid
}

// leave reports the end of a request to the gate.
func (s *server) leave(a model.Attempt, start int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inflight--
	s.slots = append(s.slots, a.Slot)
	now := s.now()
	s.gate.Done(now, model.Sample{Attempt: a, Start: start, RTT: now - start, Left: s.inflight})
}
