package algo

// Pass decides a request from the waits of its steps: it is allowed if no step has to wait. Steps of choices 1, 2, …
// are alternatives. The first choice that does not have to wait is charged, together with the steps of choice 0. The
// steps of the other choices are set aside, as if they had no cost. In a denied request, all choices except the one
// with the shortest wait are set aside.
func Pass(steps []Step) (allowed bool) {
	last := uint8(0)
	allowed = true
	for i := range steps {
		s := &steps[i]
		allowed = allowed && s.Outcome.Wait == 0
		last = max(last, s.Choice)
	}
	if last == 0 {
		return allowed
	}
	made, shortest := uint8(1), int64(-1)
	for choice := uint8(1); choice <= last && shortest != 0; choice++ {
		if wait, ok := waitOf(steps, choice); ok && (shortest < 0 || wait < shortest) {
			made, shortest = choice, wait
		}
	}
	Choose(steps, made, shortest == 0)
	return shortest == 0
}

// Choose sets aside the steps of all choices except the given one and choice 0.
func Choose(steps []Step, choice uint8, allowed bool) {
	for i := range steps {
		s := &steps[i]
		if s.Outcome.Unchosen = s.Choice != 0 && s.Choice != choice; s.Outcome.Unchosen && allowed {
			s.Cost, s.Outcome.Wait, s.Outcome.Delay, s.Outcome.Window = 0, 0, 0, 0
			s.Write = s.Report != nil // like a step without a cost, it writes only its report
		}
	}
}

// waitOf returns the longest wait among the steps of a choice and of choice 0. ok is false if no step belongs to the
// choice.
func waitOf(steps []Step, choice uint8) (wait int64, ok bool) {
	for i := range steps {
		if s := &steps[i]; s.Choice == 0 || s.Choice == choice {
			wait, ok = max(wait, s.Outcome.Wait), ok || s.Choice == choice
		}
	}
	return wait, ok
}
