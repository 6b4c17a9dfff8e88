package algo

import "unique"

// Lower subtracts by(c) from each capacity c of the limit. It returns the smallest lowered capacity as least. grow is
// false if, among several windows, a longer one no longer has the larger count.
func (l *Limit) Lower(by func(capacity int64) int64) (least int64, grow bool) {
	if l.Algorithm.Refills() {
		l.Burst -= by(l.Burst)
		if l.HasDebt() { // a debt would use the units that are left for others
			l.Queue = 0
		}
		return l.Burst, true
	}
	if l.Several == (unique.Handle[Windows]{}) {
		l.Count -= by(l.Count)
		return l.Count, true
	}
	all := l.Several.Value()
	windows := all.List[:all.N]
	least, grow = Never, true
	for i := range windows {
		windows[i].Limit -= by(windows[i].Limit)
		least = min(least, windows[i].Limit)
	}
	for i := range windows {
		for j := range windows {
			grow = grow && (windows[i].Span >= windows[j].Span || windows[i].Limit < windows[j].Limit)
		}
	}
	l.Count, l.Several = windows[0].Limit, unique.Make(all)
	return least, grow
}
