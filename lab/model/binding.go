package model

// Decision is an answer with the binding limit and window, and the answer of each limit.
type Decision struct {
	Answer
	Binding int      // index of the binding limit in the request
	Window  int      // index of the binding window in that limit
	Each    []Answer // state of each limit, as if it were the only one
}

// row is the state of one window of one limit of a request.
type row struct {
	limit, remaining, reset, wait int64
	item, window                  int
	rate, version                 int64 // for an adaptive rate
	unbound                       bool  // for a limit without units, which is binding for an allowed request only if no other limit is
}

// report lists every window of every limit. If waits is set, it includes the waits.
func report(items []item, waits bool) (rows []row) {
	for i, it := range items {
		c := it.cost
		if !waits {
			c = 0
		}
		for j, r := range it.view.rows(c) {
			r.item, r.window = i, j
			rows = append(rows, r)
		}
	}
	return rows
}

// conclude returns the answer of the binding window (rule 5). The request's delay is its limits' longest delay.
func conclude(rows []row, items []item, allowed bool, delays []int64) Decision {
	b := bindingOf(beside(rows, items), allowed)
	d := Decision{Binding: b.item, Window: b.window}
	var longest int64
	for i, delay := range delays {
		d.Each = append(d.Each, alone(rows, i, delay))
		if !items[i].aside {
			longest = max(longest, delay)
		}
	}
	d.Answer = b.answer(allowed, longest)
	return d
}

// alone returns the answer of the i-th limit as if it were the request's only limit.
func alone(rows []row, i int, delay int64) Answer {
	var own []row
	allowed := true
	for _, r := range rows {
		if r.item == i {
			own = append(own, r)
			allowed = allowed && r.wait == 0
		}
	}
	return bindingOf(own, allowed).answer(allowed, delay)
}

func bindingOf(rows []row, allowed bool) row {
	b := rows[0]
	for _, r := range rows[1:] {
		if binds(r, b, allowed) {
			b = r
		}
	}
	return b
}

// binds reports whether r takes precedence over b as the binding row. b is listed before r.
func binds(r, b row, allowed bool) bool {
	switch {
	case !allowed:
		return r.wait > b.wait
	case r.unbound || b.unbound:
		return b.unbound && !r.unbound
	case r.remaining != b.remaining:
		return r.remaining < b.remaining
	}
	return r.reset > b.reset
}

// later returns the row with us, the lag of a clock that was set back, added to its reset and its wait.
func (r row) later(us int64) row {
	if r.reset > 0 {
		r.reset += us
	}
	if r.wait > 0 && r.wait != never {
		r.wait += us
	}
	return r
}

func (r row) answer(allowed bool, delay int64) Answer {
	a := Answer{Allowed: allowed, Limit: r.limit, Remaining: r.remaining, ResetAfterUS: r.reset, DelayUS: delay, Rate: r.rate, Version: r.version}
	if r.wait != never {
		a.RetryAfterUS = &r.wait
	}
	return a
}
