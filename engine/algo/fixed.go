package algo

// Fixed is the state of a fixed window: the units counted, and the instant the
// window ends. A count of 0 is absence; the end cannot say it, because a window
// may end at 0: that of the last instants before 1970.
type Fixed struct {
	Count int64
	End   int64
}

// clock returns the instant that this limit goes by: windows by the clock or
// the calendar follow the wall clock, all others elapsed time.
func (l *Limit) clock(t Instant) int64 {
	if l.Algorithm == FixedWindow && l.Align != AlignFirst {
		return t.Wall
	}
	return t.Now
}

// opens returns the end of the window that a first request at t would open.
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

// far reports whether the clock was set back by more than the window's length
// (rule 8). One that is behind by less waits for the window's end, as everybody
// does. Of a calendar window only the end is known: it is far unless it is now's
// own window or the one after it. (By lengths alone March would be far from
// February, which is shorter.)
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

// settle forgets a window that is over.
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

// opensAfter returns how long it is until the window opens: where the clock was set
// back, it may be the one after now's own.
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

// give takes units off this window's count, by handle only off the window that
// they were taken in. A window with none left is as good as absent: the next
// request opens another.
func (f *Fixed) give(l *Limit, n, taken int64) {
	if taken != 0 && !f.holds(l, taken) {
		return // that was another window
	}
	if f.Count = max(0, f.Count-n); f.Count == 0 {
		*f = Fixed{}
	}
}

// holds reports whether an instant lies in this window.
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
