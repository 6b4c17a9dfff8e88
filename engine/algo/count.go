package algo

// Count charges the step's whole cost to a fixed window, even beyond the limit. It reports whether the window is still
// within the limit, and how many of the charged units were within it. A cost of 0 writes nothing.
func Count(s *Step, t Instant) (allowed bool, granted int64) {
	s.settle(t)
	f, now := &s.State.fixed, s.instant(t)
	granted = min(s.Cost, f.room(s.Limit, now))
	if units := min(s.Cost, MaxUnits-f.Count); units > 0 {
		s.Outcome.After = s.behind + s.arithmetic.charge(s.Limit, now, units, 0)
		s.Write, s.moved = true, nil
	}
	if allowed = f.Count <= s.Limit.Count; !allowed {
		s.Outcome.Wait = f.ttl(s.Limit, now)
	}
	s.finish(t)
	return allowed, granted
}
