package algo

import "math/bits"

// This file contains the properties that every decision reads.

// AllowsAll reports whether every request is allowed.
func (a Algorithm) AllowsAll() bool { return traits[a].allowsAll }

// Holds reports whether units are held by permits, which are acquired and released.
func (a Algorithm) Holds() bool { return traits[a].holds }

// KeepsTimes reports whether each unit is stored with its own time. If so, no span contains more units than the limit,
// units can be entered at a later time ([Step].Ahead), and the newest unit determines the reset of all windows.
func (a Algorithm) KeepsTimes() bool { return traits[a].keepsTimes }

// Punishes reports whether limits of the algorithm have no units: they deny callers that ignore the denials of other
// limits in the same request.
func (a Algorithm) Punishes() bool { return traits[a].punishes }

// Refills reports whether limits of the algorithm have one rate and a burst, and refill continuously.
func (a Algorithm) Refills() bool { return traits[a].refills }

// Divides reports whether all keys of a namespace are counted in one counter, which divides its units among them.
func (a Algorithm) Divides() bool { return traits[a].divides }

// Adapts reports whether a limit's rate adapts to reported outcomes: see [Step].Report.
func (a Algorithm) Adapts() bool { return traits[a].adapts }

// Capacity returns the number of units that an unused limit admits at once. It is the burst of a limit that refills,
// the count of other limits (of the first window, if there are several), and 0 for a limit without a rate. For a limit
// that divides its units, it is the most that one key can get.
func (l *Limit) Capacity() int64 {
	switch {
	case l.Algorithm.Divides():
		return l.mostOfOne()
	case l.Algorithm.Refills():
		return l.Burst
	default:
		return l.Count
	}
}

// HasFastPath reports whether [Words.Allow] or, if the limit divides its units, [State.AllowFair] can decide requests of
// the limit.
func (l *Limit) HasFastPath() bool { return l.Fields.Within(ways[l.Algorithm].fast) }

// Allow decides an allow on a state of two words, like the function Allow. The limit must have a fast path. It decides
// only the simple cases, which are nearly all: the state was written with the limit's parameters, and the clock was not
// set back. In all other cases, ok is false and nothing has changed. The words change only if the units are charged.
func (w *Words) Allow(l *Limit, now, cost int64, o *Outcome) (allowed, ok bool) {
	switch {
	case cost < 1:
		return false, false
	case l.Algorithm == FixedWindow && cost <= l.Count:
		return w.allowFixed(l, now, cost, o)
	case l.Algorithm != FixedWindow && cost <= l.Burst:
		return w.allowBucket(l, now, cost, o)
	default:
		return false, false
	}
}

func (w *Words) allowBucket(l *Limit, now, cost int64, o *Outcome) (allowed, ok bool) {
	high, full := bits.Mul64(uint64(l.Burst), uint64(l.Period))
	missing, elapsed, count, depth := w[0], now-int64(w[1]), uint64(l.Count), full
	if l.Algorithm == Pacer {
		b := fresh(l, 0)
		queue := b.longestQueue(l)
		if depth += queue.lo; queue.hi != 0 || depth < full {
			return false, false
		}
	}
	if high != 0 || depth >= 1<<62 || missing > depth || elapsed < 0 {
		return false, false
	}
	if high, gained := bits.Mul64(uint64(elapsed), count); high != 0 || gained >= missing {
		missing = 0
	} else {
		missing -= gained
	}
	after := missing + uint64(cost)*uint64(l.Period)
	o.Limit, o.Wait, o.Delay, o.Window, o.Remaining = l.Burst, 0, 0, 0, 0
	if allowed = after <= depth; !allowed {
		o.Wait = int64((after - depth + count - 1) / count)
	} else if missing, w[0], w[1] = after, after, uint64(now); after > full { // a pacer's queue
		o.Delay = int64((after - full + count - 1) / count)
	}
	if missing < full && (allowed || cost > 1) { // a division takes a tenth of a decision's time
		o.Remaining = int64((full - missing) / uint64(l.Period))
	}
	o.Reset = int64((missing + count - 1) / count)
	return allowed, true
}

func (w *Words) allowFixed(l *Limit, now, cost int64, o *Outcome) (allowed, ok bool) {
	count, end := int64(w[0]), int64(w[1])
	if end <= now {
		count, end = 0, now+l.Period
	}
	if count > l.Count || end-now > l.Period {
		return false, false
	}
	if allowed = count+cost <= l.Count; allowed {
		count += cost
		w[0], w[1], o.Wait = uint64(count), uint64(end), 0
	} else {
		o.Wait = end - now
	}
	o.Limit, o.Delay, o.Window = l.Count, 0, 0
	o.Remaining, o.Reset = l.Count-count, end-now
	return allowed, true
}
