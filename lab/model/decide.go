package model

// take decides an allow or, if write is false, a peek.
func (s *Subject) take(items []item, write bool) Decision {
	allowed, made := admitted(items), 0
	if hasChoices(items) {
		allowed, made = choose(items, func(i int) int64 { return items[i].waits() })
	}
	delays := delaysOf(items, allowed)
	before := report(items, false)
	charged := charge(items, allowed)
	after := report(items, !allowed)
	if !write {
		// A peek returns the allow's wait, but the state before it (rule 6).
		for i := range before {
			before[i].wait = after[i].wait
		}
		return conclude(before, items, allowed, delays).paid(made)
	}
	// A denied request stores only the fact that the clock was set back far (rule 8). It refills, converts and deletes
	// nothing (rule 4).
	for i, it := range items {
		switch {
		case charged[i]:
			s.store(it)
		case it.moved != nil && it.cost > 0:
			s.stored[it.key] = it.moved
		}
		if it.reported {
			s.store(it)
		}
	}
	return conclude(after, items, allowed, delays).paid(made)
}

// store writes a state. A state that is equivalent to no state is deleted (rules 7 and 9).
func (s *Subject) store(it item) {
	if it.view.gone() {
		delete(s.stored, it.key)
		return
	}
	if g, ok := it.view.(*governor); ok {
		it.view = g.written()
	}
	s.stored[it.key] = it.view
}

func admitted(items []item) bool {
	for _, it := range items {
		if it.cost > 0 && !it.view.admits(it.cost) {
			return false
		}
	}
	return true
}

func delaysOf(items []item, allowed bool) []int64 {
	us := make([]int64, len(items))
	for i, it := range items {
		if allowed && it.cost > 0 {
			us[i] = it.view.delay(it.cost)
		}
	}
	return us
}

// charge charges an admitted request on all of its limits. It charges a denied request on the limits that count
// denials, unless any limit answers Never or a penalty denies (rule 4).
func charge(items []item, allowed bool) (charged []bool) {
	charged = make([]bool, len(items))
	wait, counts := deniedFor(items)
	if !allowed && !counts {
		return charged
	}
	for i, it := range items {
		switch {
		case it.cost == 0:
		case allowed:
			it.view.spend(it.cost)
			charged[i] = it.limit.Algorithm != Penalty
		case it.limit.countsDenied():
			it.view.deny(it.cost, wait)
			charged[i] = true
		}
	}
	return charged
}

// deniedFor returns a denied request's longest wait. counts is false if the request can never pass or a penalty denies
// it, because the request then does not count.
func deniedFor(items []item) (wait int64, counts bool) {
	counts = true
	for _, r := range report(items, true) {
		wait = max(wait, r.wait)
		counts = counts && r.wait != never && (r.wait == 0 || items[r.item].limit.Algorithm != Penalty)
	}
	return wait, counts
}

func (l Limit) countsDenied() bool { return l.CountDenied || l.Algorithm == Penalty }

// atMost charges the units that would pass now, or is denied like an allow of 1 unit (rule 6). If each limit has its
// own cost, that cost is the maximum charged to the limit.
func (s *Subject) atMost(items []item) Decision {
	granted, asked := int64(never), false
	for _, it := range items {
		if it.cost > 0 {
			granted, asked = min(granted, it.cost, it.view.most()), true
		}
	}
	if !asked {
		granted = 0
	}
	for i := range items {
		items[i].cost = min(items[i].cost, max(granted, 1))
	}
	d := s.take(items, true)
	d.Granted = &granted
	return d
}

// count charges the full cost to a fixed window, even beyond the limit. The answer is a denial if the window's count
// then exceeds the limit (section 4).
func (s *Subject) count(items []item) Decision {
	it := items[0]
	f := it.view.(*fixed) //nolint:forcetypeassert // only fixed windows support count
	granted := min(it.cost, f.most())
	if it.cost > 0 {
		f.spend(min(it.cost, MaxUnits-f.count))
		s.store(it)
	}
	r, allowed := f.rows(0)[0], f.count <= f.limit.Limit
	if !allowed {
		r.wait = f.end - f.now
	}
	d := conclude([]row{r}, items, allowed, make([]int64, 1))
	d.Granted = &granted
	return d
}

// give returns units, and answers with the resulting state. Compared with that state, the clock may no longer lag
// (rule 8). If there is no state, there is nothing to return units to.
func (s *Subject) give(items []item, now int64) Decision {
	for i, it := range items {
		if _, ok := s.stored[it.key]; ok && it.cost > 0 {
			it.view.give(it.cost)
			it.view = it.view.at(it.limit, now)
			s.store(it)
			items[i] = it
		}
	}
	return conclude(report(items, false), items, true, make([]int64, len(items)))
}

// reset deletes the state, and answers with the state of an unused limit.
func (s *Subject) reset(items []item, now int64) Decision {
	for i, it := range items {
		delete(s.stored, it.key)
		items[i].view = absent(it.limit, now)
	}
	return conclude(report(items, false), items, true, make([]int64, len(items)))
}
