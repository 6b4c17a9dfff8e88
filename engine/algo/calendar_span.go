package algo

import "time"

// spanWindow returns the window of an hour or a minute. An hour's window begins when the zone's clock shows a whole
// hour, but at least an hour of real time after the previous window began. Therefore the windows leave no gaps. Each
// is an hour long, unless the clock changes by a fraction of an hour in it: such a window is longer, but shorter than
// two hours. If it were cut short instead, half an hour could touch three windows: under a limit of 5 an hour, 15
// requests would pass. The windows of a minute follow the same rule.
func spanWindow(unit Unit, zone *time.Location, now int64) (start, end int64) {
	s := spans{zone: zone, length: time.Hour.Microseconds()}
	if unit == Minute {
		s.length = time.Minute.Microseconds()
	}
	start = s.begin(now)
	return start, s.next(start)
}

// spans finds the windows of one length in one zone.
type spans struct {
	zone   *time.Location
	length int64
}

// offset returns how far the zone's clock is ahead of UTC, in µs.
func (s spans) offset(at int64) int64 {
	_, seconds := time.UnixMicro(at).In(s.zone).Zone()
	return int64(seconds) * time.Second.Microseconds()
}

// begin returns the start of the window that contains an instant. From two lengths after a clock change on, every whole
// hour starts a window, so the search begins at such an hour.
func (s spans) begin(at int64) int64 {
	offset := s.offset(at)
	whole := floorDiv(at+offset, s.length)*s.length - offset
	if s.offset(whole) == offset && s.offset(whole-2*s.length) == offset {
		return whole
	}
	start := s.begin(at - 3*s.length)
	for next := s.next(start); next <= at; next = s.next(start) {
		start = next
	}
	return start
}

// next returns the end of the window that starts at an instant: the first whole hour at least an hour later. No zone
// changes its clock twice within that time.
func (s spans) next(start int64) int64 {
	from := start + s.length
	offset := s.offset(from)
	return -floorDiv(-from-offset, s.length)*s.length - offset
}
