package algo

// Pass decides a request whose waits are known: whether all of its steps have room. Steps of
// choices 1, 2, … take part one choice after another. Of them the first that has room beside the
// steps of choice 0 is charged, and the steps of the others are set aside, as if they had no cost.
// Of a denied request only the choice with the shortest wait is not set aside.
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

// Choose sets the steps of all choices but one aside.
func Choose(steps []Step, choice uint8, allowed bool) {
	for i := range steps {
		s := &steps[i]
		if s.Outcome.Aside = s.Choice != 0 && s.Choice != choice; s.Outcome.Aside && allowed {
			s.Cost, s.Outcome.Wait, s.Outcome.Delay, s.Outcome.Window = 0, 0, 0, 0
		}
	}
}

// waitOf returns the longest wait of a choice's steps and those of choice 0; ok is false if no
// step is of the choice.
func waitOf(steps []Step, choice uint8) (wait int64, ok bool) {
	for i := range steps {
		if s := &steps[i]; s.Choice == 0 || s.Choice == choice {
			wait, ok = max(wait, s.Outcome.Wait), ok || s.Choice == choice
		}
	}
	return wait, ok
}
