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

func (f *Fixed) settle(l *Limit, t Instant) (corrected bool) {
	if f.Count == 0 {
		return false
	}
	now := l.clock(t)
	if f.End <= now {
		*f = Fixed{}
		// Windows by the clock begin without a request, so a take that finds
		// this one ended writes that down, whether it passes or not.
		return l.Align != AlignFirst
	}
	end := l.opens(t)
	if f.End <= end {
		return false
	}
	// The clock was set back, or the window was made shorter: what was
	// counted stays counted, to the end of a window that starts now.
	f.End = end
	return true
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

// give takes units off this window's count. A window with none left is as good
// as absent: the next request opens another.
func (f *Fixed) give(l *Limit, n, taken int64) {
	if taken != 0 && l.opens(Instant{Now: taken, Wall: taken}) < f.End {
		return // that was another window
	}
	if f.Count = max(0, f.Count-n); f.Count == 0 {
		*f = Fixed{}
	}
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
