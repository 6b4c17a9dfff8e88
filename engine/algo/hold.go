package algo

// Acquire takes a lease of every step's cost under the id, or of none. An id
// that already holds just that has it renewed, so that an acquire whose answer
// was lost can be repeated. One that holds other units changes to these, if they
// fit beside what the others hold; otherwise it keeps what it had.
func Acquire(steps []Step, t Instant, id string) bool {
	allowed, held := true, true
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		s.Outcome.Wait = s.State.leases.waitBeside(s.Limit, t, id, s.Cost)
		allowed = allowed && s.Outcome.Wait == 0
		held = held && s.State.leases.units(id) == s.Cost
	}
	if held {
		Renew(steps, t, id)
		return true
	}
	for i := range steps {
		s := &steps[i]
		if allowed {
			s.State.leases.acquire(s.Limit, t, id, s.Cost)
			s.Write, s.moved = true, nil
		}
		s.finish(t)
	}
	return allowed
}

// Renew extends the lease of the id on every step. It reports false, and
// extends none, when any of them is lost. Costs mean nothing here.
func Renew(steps []Step, t Instant, id string) bool {
	live := true
	for i := range steps {
		steps[i].correct(t)
		live = live && steps[i].State.leases.find(id) >= 0
	}
	for i := range steps {
		s := &steps[i]
		s.Outcome.Wait = Never
		if live {
			s.Outcome.Wait = 0
			s.State.leases.renew(s.Limit, t, id)
			s.Write, s.moved = true, nil
		}
		s.finish(t)
	}
	return live
}

// Release gives the lease of the id back on every step. It reports whether it
// was held on any; releasing twice does nothing. Costs mean nothing here.
func Release(steps []Step, t Instant, id string) bool {
	held := false
	for i := range steps {
		s := &steps[i]
		s.correct(t)
		if s.State.leases.release(id) {
			held, s.Write, s.moved = true, true, nil
		}
		s.finish(t)
	}
	return held
}

// correct brings the state to now and writes that the clock was set back,
// whatever the cost: a renewal and a release have none.
func (s *Step) correct(t Instant) {
	s.settle(t)
	s.Write = s.moved != nil
}
