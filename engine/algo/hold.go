package algo

// Acquire grants the id a permit for every step's cost, or no permit at all. If the id already holds exactly these
// units, Acquire renews its permit, so that a caller can repeat an acquire whose answer was lost. If the id holds
// another number of units, its permit changes to the new number if that fits in addition to the units of the other
// holders; otherwise it does not change.
func Acquire(steps []Step, t Instant, id string) bool {
	allowed, held := true, true
	for i := range steps {
		s := &steps[i]
		s.settle(t)
		s.Outcome.Wait = s.State.permits.waitBeside(s.Limit, t, s.holder(id), s.Cost)
		allowed = allowed && s.Outcome.Wait == 0
		held = held && s.State.permits.units(s.holder(id)) == s.Cost
	}
	if held {
		Renew(steps, t, id)
		return true
	}
	for i := range steps {
		s := &steps[i]
		if allowed {
			s.State.permits.acquire(s.Limit, t, s.holder(id), s.Cost)
			s.Write, s.moved = true, nil
		}
		s.finish(t)
	}
	return allowed
}

// Renew extends the id's permit on every step. If the permit is lost on any step, Renew extends none and returns false.
// Costs are ignored.
func Renew(steps []Step, t Instant, id string) bool {
	live := true
	for i := range steps {
		steps[i].correct(t)
		live = live && steps[i].State.permits.find(steps[i].holder(id)) >= 0
	}
	for i := range steps {
		s := &steps[i]
		s.Outcome.Wait = Never
		if live {
			s.Outcome.Wait = 0
			s.State.permits.renew(s.Limit, t, s.holder(id))
			s.Write, s.moved = true, nil
		}
		s.finish(t)
	}
	return live
}

// Release removes the id's permit on every step, and reports whether the id held a permit on any step. Release is
// idempotent. Costs are ignored.
func Release(steps []Step, t Instant, id string) bool {
	held := false
	for i := range steps {
		s := &steps[i]
		s.correct(t)
		if s.State.permits.release(s.holder(id)) {
			held, s.Write, s.moved = true, true, nil
		}
		s.finish(t)
	}
	return held
}

// correct updates the state to now. If the clock was set back, it marks the corrected state to be written regardless of
// the cost, because a renewal and a release cost nothing.
func (s *Step) correct(t Instant) {
	s.settle(t)
	s.Write = s.moved != nil
}
