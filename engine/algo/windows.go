package algo

import "unique"

// MaxWindows is the largest number of windows of one limit.
const MaxWindows = 8

// Window is one window of a limit: at most Limit units in Span microseconds.
type Window struct {
	Limit int64
	Span  int64
}

// Windows is a list of windows as a comparable value.
type Windows struct {
	N    int
	List [MaxWindows]Window
}

// first returns the limit's first window. single is set if it is the only one.
func (l *Limit) first() (w Window, single bool) {
	return Window{Limit: l.Count, Span: l.Period}, l.Several == (unique.Handle[Windows]{})
}

// windows returns the limit's windows. It uses buf, so that nothing is allocated.
func (l *Limit) windows(buf *Windows) []Window {
	w, single := l.first()
	if single {
		buf.List[0] = w
		return buf.List[:1]
	}
	*buf = l.Several.Value()
	return buf.List[:buf.N]
}

// Longest returns the longest span among the limit's windows, in µs.
func (l *Limit) Longest() int64 {
	if w, single := l.first(); single {
		return w.Span
	}
	var buf Windows
	longest := int64(0)
	for _, w := range l.windows(&buf) {
		longest = max(longest, w.Span)
	}
	return longest
}

// Windows returns the windows of a sliding window or log, in order.
func (l *Limit) Windows() []Window {
	var buf Windows
	return append([]Window(nil), l.windows(&buf)...)
}

// Window returns one window of a limit that has several. ok is false if there is no such window.
func (l *Limit) Window(i int) (w Window, ok bool) {
	if l.Several == (unique.Handle[Windows]{}) {
		return Window{}, false
	}
	several := l.Several.Value()
	if i >= several.N {
		return Window{}, false
	}
	return several.List[i], true
}

// A sliding window or a log can have several windows over one history. The following functions combine the windows'
// results.

// longestWait returns the longest wait among the windows, and the index of the window with that wait.
func (l *Limit) longestWait(of func(Window) int64) (wait int64, window int) {
	if w, single := l.first(); single {
		return of(w), 0
	}
	var buf Windows
	for i, w := range l.windows(&buf) {
		if v := of(w); v > wait {
			wait, window = v, i
		}
	}
	return wait, window
}

func (l *Limit) leastRoom(of func(Window) int64) int64 {
	var buf Windows
	least := Never
	for _, w := range l.windows(&buf) {
		least = min(least, of(w))
	}
	return least
}

// reportWindows fills in the outcome for the window that denies or, if none does, for the window with the fewest units
// left.
func (l *Limit) reportWindows(o *Outcome, of func(Window) (left, reset int64)) {
	if w, single := l.first(); single {
		o.Limit, o.Window = w.Limit, 0
		o.Remaining, o.Reset = of(w)
		return
	}
	var buf Windows
	denied := o.Wait > 0
	for i, w := range l.windows(&buf) {
		if denied && i != o.Window {
			continue
		}
		left, reset := of(w)
		if i == 0 || denied || left < o.Remaining || left == o.Remaining && reset > o.Reset {
			o.Limit, o.Remaining, o.Reset, o.Window = w.Limit, left, reset, i
		}
	}
}

// largest returns the largest count among the limit's windows.
func (l *Limit) largest() (units int64) {
	var buf Windows
	for _, w := range l.windows(&buf) {
		units = max(units, w.Limit)
	}
	return units
}

// overdrawn returns the window that a settlement uses: its limit is raised by the largest count, so that units beyond a
// minute's limit are still counted in the day's limit.
func (l *Limit) overdrawn(w Window) Window {
	w.Limit += l.largest()
	return w
}

// windowShares returns one bucket per window. The bucket's burst and rate are 1/n of the window's count and rate.
// Share.Window is the full length of the window.
func windowShares(l *Limit, n int64) (shares []Share) {
	for _, w := range l.Windows() {
		share := bucketShare(w.Limit, w.Span, w.Limit, n)
		share.Window = w.Span
		shares = append(shares, share)
	}
	return shares
}
