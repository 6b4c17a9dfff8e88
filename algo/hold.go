package algo

// Acquire takes a lease of every step's cost under the id, or of none. An id
// that already holds one has it renewed and is charged nothing more, so that an
// acquire whose answer was lost can be repeated.
func Acquire(steps []Step, t Instant, id string) bool {
	allowed, held := probe(steps, t), true
	for i := range steps {
		held = held && steps[i].State.leases.find(id) >= 0
	}
	if held {
		Renew(steps, t, id)
		return true
	}
	for i := range steps {
		s := &steps[i]
		if allowed {
			s.State.leases.acquire(s.Limit, t, id, s.Cost)
			s.Write = true
		}
		s.finish(t)
	}
	return allowed
}

// Renew extends the lease of the id on every step. It reports false, and
// extends none, when any of them is lost.
func Renew(steps []Step, t Instant, id string) bool {
	live := true
	for i := range steps {
		steps[i].settle(t)
		live = live && steps[i].State.leases.find(id) >= 0
	}
	for i := range steps {
		s := &steps[i]
		s.Outcome.Wait = Never
		if live {
			s.Outcome.Wait = 0
			s.State.leases.renew(s.Limit, t, id)
			s.Write = true
		}
		s.finish(t)
	}
	return live
}

// Release gives the lease of the id back on every step. It reports whether it
// was held on any; releasing twice does nothing.
func Release(steps []Step, t Instant, id string) bool {
	held := false
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		if s.State.leases.release(id) {
			held, s.Write = true, true
		}
		s.finish(t)
	}
	return held
}
