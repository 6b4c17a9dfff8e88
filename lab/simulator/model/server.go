package model

import "math/rand/v2"

// server consists of the workers and their queue.
type server struct {
	workers, slowdown, neighbour reader
	// queue contains the waiting attempts, starting at index head.
	queue []int32
	head  int
	busy  int

	busyTime, runTime float64 // integrals over time of the busy workers and of the requests in the server, in µs, since the last reading
	since, read       int64
	count             int // current number of workers
}

func (s *server) start(c *Server) {
	s.workers, s.slowdown, s.neighbour = reader{Course: c.Workers}, reader{Course: c.Slowdown}, reader{Course: c.Neighbour}
	s.count = int(s.workers.at(0))
}

func (s *server) inServer() int { return s.busy + len(s.queue) - s.head }

// idle reports whether a worker is free.
func (s *server) idle() bool { return s.busy < s.count }

// account adds the time since the last change to both integrals.
func (s *server) account(now int64) {
	span := float64(now - s.since)
	s.busyTime += span * float64(s.busy)
	s.runTime += span * float64(s.inServer())
	s.since = now
}

func (s *server) leave(now int64) {
	s.account(now)
	s.busy--
}

// enter starts an attempt if a worker is free, and otherwise queues it. It returns false if the queue is full.
func (r *run) enter(slot int32) bool {
	s := &r.server
	if len(s.queue)-s.head >= r.Server.Queue {
		return false
	}
	s.account(r.now)
	s.queue = append(s.queue, slot)
	r.startWaiting()
	return true
}

// startWaiting assigns waiting attempts to idle workers.
func (r *run) startWaiting() {
	s := &r.server
	s.account(r.now)
	s.count = int(s.workers.at(r.now))
	for s.busy < s.count && s.head < len(s.queue) {
		slot := s.queue[s.head]
		s.head++
		if r.Server.Drops && r.attempts[slot].call == abandoned {
			r.end(slot)
			continue
		}
		work := r.work(&r.Server.Service, r.random)
		s.busy++
		r.add(r.Server.Pause.finish(r.now, work), finish, slot)
	}
	if s.head > 1024 && 2*s.head > len(s.queue) {
		s.queue = s.queue[:copy(s.queue, s.queue[s.head:])]
		s.head = 0
	}
}

// work draws the service time of the next attempt, in µs, under the current slowdown and contention.
func (r *run) work(service *Service, random *rand.Rand) int64 {
	t := service.Draw(random)
	if len(r.slowdown.points) > 0 {
		t *= r.slowdown.at(r.now)
	}
	t *= 1 + r.Server.Contention*float64(r.inServer())
	return int64(min(max(t, 1), maxLength))
}

// load returns the machine's average load since the last call, and starts a new interval.
func (r *run) load(now int64) Load {
	s := &r.server
	s.account(now)
	span := max(1, float64(now-s.read)) * max(1, float64(s.count))
	own := min(1, s.busyTime/span*r.Server.CPU)
	l := Load{Own: own, Host: min(1, own+s.neighbour.at(now)), Runnable: s.runTime / max(1, float64(now-s.read)) * r.Server.CPU}
	s.busyTime, s.runTime, s.read = 0, 0, now
	return l
}
