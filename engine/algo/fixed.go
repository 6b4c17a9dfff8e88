package algo

// Fixed is the state of a fixed window: the units counted, and the instant at which the
// window ends. A count of 0 means no state. The end cannot mean it, because the last
// window before 1970 ends at 0.
type Fixed struct {
	Count int64
	End   int64
}

// clock returns the instant that the limit uses: windows aligned to the clock or the
// calendar use the wall clock, all others elapsed time.
func (l *Limit) clock(t Instant) int64 {
	if l.Algorithm == FixedWindow && l.Align != AlignFirst {
		return t.Wall
	}
	return t.Now
}

// opens returns the end of the window that a first request at t opens.
func (l *Limit) opens(t Instant) (end int64) {
	now := l.clock(t)
	switch l.Align {
	case AlignClock:
		return (floorDiv(now, l.Period) + 1) * l.Period
	case AlignCalendar:
		_, end = CalendarWindow(l.Unit, l.Zone, now)
		return end
	default:
		return now + l.Period
	}
}

// far reports whether the clock was set back by more than the window's length (rule 8).
// If it is behind by less, callers wait for the window's end as usual. A calendar window
// stores only its end, so it is far unless it is the window of now or the next one.
// (Lengths alone are not enough: March would be far from February, which is shorter.)
func (f *Fixed) far(l *Limit, t Instant) bool {
	left := f.End - l.clock(t)
	if f.Count == 0 || left <= 0 {
		return false
	}
	if l.Align != AlignCalendar {
		return left > 2*l.Period
	}
	end := l.opens(t)
	if f.End <= end {
		return false
	}
	_, next := CalendarWindow(l.Unit, l.Zone, end)
	return f.End > next
}

// settle drops a window that has ended.
func (f *Fixed) settle(l *Limit, t Instant) {
	if f.Count == 0 || f.End <= l.clock(t) {
		*f = Fixed{}
	}
}

func (f *Fixed) wait(l *Limit, t Instant, cost int64) int64 {
	switch {
	case cost > l.Count:
		return Never
	case f.Count+cost <= l.Count:
		return 0
	default:
		return f.End - l.clock(t)
	}
}

func (f *Fixed) room(l *Limit, _ Instant) int64 { return max(0, l.Count-f.Count) }

func (f *Fixed) charge(l *Limit, t Instant, cost int64) {
	if f.Count == 0 {
		f.End = l.opens(t)
	}
	f.Count += cost
}

// opensAfter returns how long until the window opens: after the clock was set back, it
// can be the window after the one of now.
func (f *Fixed) opensAfter(l *Limit, t Instant) int64 {
	now := l.clock(t)
	if l.Align != AlignCalendar {
		return max(0, f.End-l.Period-now)
	}
	if end := l.opens(t); f.End > end {
		return end - now
	}
	return 0
}

// give subtracts units from this window's count; by handle, only if they were charged in
// this window. A window whose count is 0 equals no state: the next request opens another.
func (f *Fixed) give(l *Limit, n, taken int64) {
	if taken != 0 && !f.holds(l, taken) {
		return // the handle is of another window
	}
	if f.Count = max(0, f.Count-n); f.Count == 0 {
		*f = Fixed{}
	}
}

// holds reports whether an instant is in this window.
func (f *Fixed) holds(l *Limit, at int64) bool {
	if l.Align == AlignFirst {
		return f.End-l.Period <= at && at < f.End
	}
	return l.opens(Instant{Now: at, Wall: at}) == f.End
}

func (f *Fixed) penalize(l *Limit, t Instant, cost int64) {
	if extra := min(cost, l.Count-f.Count); extra > 0 {
		f.charge(l, t, extra)
	}
}

func (f *Fixed) report(l *Limit, t Instant, o *Outcome) {
	o.Limit = l.Count
	o.Remaining = f.room(l, t)
	o.Reset = f.ttl(l, t)
}

func (f *Fixed) ttl(l *Limit, t Instant) int64 {
	if f.Count == 0 {
		return 0
	}
	return f.End - l.clock(t)
}

// floorDiv returns ⌊a/b⌋ for b > 0, also before 1970.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
