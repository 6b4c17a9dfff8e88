package model

// choose picks a choice, and sets aside the items of the other choices (rule "first"). The wait argument returns each
// item's wait. If the request passes, the items set aside cost nothing. If it is denied, choose picks the choice with
// the shortest wait.
func choose(items []item, wait func(i int) int64) (allowed bool, made int) {
	best := int64(-1)
	for choice := 1; choice <= 32; choice++ { // the largest number of limits
		longest, of := int64(0), false
		for i, it := range items {
			of = of || it.limit.Choice == choice
			if it.limit.Choice == 0 || it.limit.Choice == choice {
				longest = max(longest, wait(i))
			}
		}
		if of && (best < 0 || longest < best) {
			made, best = choice, longest
		}
	}
	for i := range items {
		it := &items[i]
		if it.aside = it.limit.Choice != 0 && it.limit.Choice != made; it.aside && best == 0 {
			it.cost, it.reported, it.moved = 0, it.observed, nil
		}
	}
	return best == 0, made
}

// hasChoices reports whether a request has choices.
func hasChoices(items []item) bool {
	for _, it := range items {
		if it.limit.Choice != 0 {
			return true
		}
	}
	return false
}

// waits returns the time in µs until the item's cost passes, over all of its windows.
func (it *item) waits() (wait int64) {
	if it.cost == 0 {
		return 0
	}
	for _, r := range it.view.rows(it.cost) {
		wait = max(wait, r.wait)
	}
	return wait
}

// beside returns the rows without those for items that are set aside.
func beside(rows []row, items []item) (kept []row) {
	for _, r := range rows {
		if !items[r.item].aside {
			kept = append(kept, r)
		}
	}
	return kept
}

// paid records in an allowed answer which choice was charged.
func (d Decision) paid(choice int) Decision {
	if d.Allowed && choice > 0 {
		d.Granted = new(int64)
		*d.Granted = int64(choice)
	}
	return d
}
