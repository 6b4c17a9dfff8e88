package topkeys

import "time"

// segments is the number of spans in a window: the current span and the past ones.
const segments = 6

// window counts subjects in the last few time spans.
type window struct {
	length time.Duration // length of one span
	began  time.Time     // start of the current span
	first  time.Time     // when the window started counting
	live   *sketch
	ended  [segments - 1]segment // the latest first
}

func newWindow(length time.Duration) window {
	return window{length: length, live: newSketch(capacity)}
}

// turn ends the current span if it is over at the time now, and starts the next one. Any spans between are empty.
func (w *window) turn(now time.Time) {
	if w.began.IsZero() {
		w.began, w.first = now.Truncate(w.length), now
		return
	}
	for turned := 0; now.Sub(w.began) >= w.length; turned++ {
		if turned >= segments { // all are empty
			w.began = now.Truncate(w.length)
			return
		}
		copy(w.ended[1:], w.ended[:])
		w.ended[0] = w.live.finish(keep)
		w.live = newSketch(capacity)
		w.began = w.began.Add(w.length)
	}
}

// span returns the time covered by the window's last spans, including the current one.
func (w *window) span(now time.Time, last int) time.Duration {
	begin := w.began.Add(-time.Duration(last-1) * w.length)
	if w.first.After(begin) {
		begin = w.first
	}
	return now.Sub(begin)
}

// bounds holds a subject's count, and the bounds between which the true count is.
type bounds struct{ count, least, most int64 }

// sum adds up the last spans, including the current one. The upper bound of each returned subject also covers the spans
// that do not list it.
func (w *window) sum(last int) map[Subject]*bounds {
	all := map[Subject]*bounds{}
	live := segment{absent: w.live.absent(), top: make([]entry, 0, len(w.live.heap))}
	for _, e := range w.live.heap {
		live.top = append(live.top, *e)
	}
	parts := append([]segment{live}, w.ended[:last-1]...)
	absent := int64(0)
	for i := range parts {
		absent += parts[i].absent
	}
	for i := range parts {
		for j := range parts[i].top {
			e := &parts[i].top[j]
			b := all[e.of]
			if b == nil {
				b = &bounds{most: absent}
				all[e.of] = b
			}
			b.count += e.count
			b.least += e.count - e.over
			b.most += e.count - parts[i].absent
		}
	}
	return all
}
