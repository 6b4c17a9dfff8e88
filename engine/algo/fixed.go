package algo

// fixedWindow counts units in consecutive windows.
var fixedWindow = algorithm{
	name:   "fixed-window",
	code:   "fw",
	fields: []string{"align", "anchor", "count_denied", "name"},
	properties: properties{
		twoWords:   true, // the count and the end
		countsHits: true, // the count can exceed the limit
	},
	fast:         []string{"name"},
	prefetchable: []string{"align", "anchor", "name"}, // the units of a window are interchangeable
	on:           func(s *State) arithmetic { return &s.fixed },
	shares: func(l *Limit, n int64) []Share {
		share := bucketShare(l.Count, l.LongestWindow(), l.Count, n)
		share.Window = l.LongestWindow()
		return []Share{share}
	},
	// A count cannot be moved to a window that starts at another time, so the alignment is part of the counter's name.
	grid:        (*Limit).windowGrid,
	upperBound:  (*Limit).anyWindow,
	penalize:    func(s *State, l *Limit, t Instant, cost, _ int64) { s.fixed.penalize(l, t, cost) },
	spare:       func(s *State, l *Limit, _ Instant) int64 { return s.fixed.spare(l) },
	windowLeft:  func(_ *Limit, _, reset int64) int64 { return reset },
	waitByReset: func(_ *Limit, _, reset int64) int64 { return reset }, // nothing leaves the window earlier
}

// StoredFixed returns the state of a fixed window from its stored form.
func StoredFixed(count, end int64) State {
	return State{algorithm: FixedWindow, fixed: Fixed{Count: count, End: end}}
}

// Fixed is the state of a fixed window: the number of counted units, and the instant when the window ends. A Count of 0
// means no state. An End of 0 does not, because the last window before 1970 ends at 0.
type Fixed struct {
	Count int64
	End   int64
}

// anyWindow returns a log with twice the window's units. The start of a window is unknown, and a span of the same
// length can overlap two windows.
func (l *Limit) anyWindow() (Limit, bool) {
	if l.Align != AlignFirst {
		return *l, true
	}
	return Limit{Algorithm: SlidingLog, Count: 2 * l.Count, Period: l.Period}, l.Count <= MaxLogUnits/2
}

func (l *Limit) windowGrid() Grid {
	if l.Align == AlignCalendar {
		return Grid{Align: l.Align, Unit: l.Unit, Zone: l.Zone, Anchor: l.Anchor}
	}
	return Grid{Period: l.Period, Align: l.Align}
}

// clock returns the instant that the limit uses: windows aligned to the clock or the
// calendar use the wall clock, all others elapsed time.
func (l *Limit) clock(t Instant) int64 {
	if l.Align != AlignFirst {
		return t.Wall
	}
	return t.Now
}

// opens returns the end of the window that starts with a first request at t.
func (l *Limit) opens(t Instant) (end int64) {
	now := l.clock(t)
	switch l.Align {
	case AlignClock:
		return (floorDiv(now, l.Period) + 1) * l.Period
	case AlignCalendar:
		_, end = l.calendarWindow(now)
		return end
	default:
		return now + l.Period
	}
}

func (f *Fixed) behind(l *Limit, t Instant) (us int64, far bool) { return 0, f.far(l, t) }

// far reports whether the clock was set back by more than the window's length (rule 8). If it is behind by less,
// callers wait for the window's end as usual. A calendar window stores only its end, so the clock counts as far back
// unless the stored window is the current window or the next one. (Lengths alone are not enough: March would be far
// from February, which is shorter.)
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
	_, next := l.calendarWindow(end)
	return f.End > next
}

func (f *Fixed) rewind(l *Limit, t Instant) { f.End = l.opens(t) }

// settle drops a window that has ended.
func (f *Fixed) settle(l *Limit, t Instant) {
	if f.Count == 0 || f.End <= l.clock(t) {
		*f = Fixed{}
	}
}

func (f *Fixed) wait(l *Limit, t Instant, cost int64) (wait int64, window int) {
	switch {
	case cost > l.Count:
		return Never, 0
	case f.Count+cost <= l.Count:
		return 0, 0
	default:
		return f.End - l.clock(t), 0
	}
}

func (f *Fixed) room(l *Limit, _ Instant) int64 { return max(0, l.Count-f.Count) }

// spare returns the number of units that a limit twice as large would still admit, within the range of the count.
func (f *Fixed) spare(l *Limit) int64 { return max(0, min(2*l.Count, MaxUnits)-f.Count) }

func (f *Fixed) charge(l *Limit, t Instant, cost, _ int64) (after int64) {
	if f.Count == 0 {
		f.End = l.opens(t)
	}
	f.Count += cost
	return f.opensAfter(l, t)
}

// opensAfter returns the time until the window opens. After the clock was set back, the window can be the one after the
// current window.
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

// give subtracts units from this window's count. If there is a handle, it does so only if the units were charged in
// this window. A window whose count is 0 is equivalent to no state: the next request starts another window.
func (f *Fixed) give(l *Limit, _ Instant, n int64, charge *Held) {
	if charge != nil && !f.holds(l, charge.At) {
		return // the handle belongs to another window
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
		f.charge(l, t, extra, 0)
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

func (f *Fixed) append(to []byte) []byte { return integers(to, f.Count, f.End) }
func (f *Fixed) decode(d *decoder)       { *f = Fixed{Count: d.natural(), End: d.integer()} }

// floorDiv returns ⌊a/b⌋ for b > 0. An instant a before 1970 is negative.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
