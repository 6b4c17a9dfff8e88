package algo

// StoredBucket returns the state of a token bucket or a pacer from what a store
// keeps of it: the instant of its last change, what is missing in whole tokens
// and in parts of 1/period, and the numbers it was written under.
func StoredBucket(a Algorithm, at, whole, part, count, period int64) State {
	missing := product(whole, period).plus(uint128{lo: uint64(part)})
	return State{algorithm: a, bucket: Bucket{Missing: missing, Count: count, Period: period, At: at}}
}

// StoredFixed returns the state of a fixed window from what a store keeps of it.
func StoredFixed(count, end int64) State {
	return State{algorithm: FixedWindow, fixed: Fixed{Count: count, End: end}}
}

// Words is the state of a bucket, a pacer or a fixed window in two words, for
// stores that keep many: what is missing from the bucket and since when, or what
// was counted and until when. The numbers that it was written under are kept
// beside.
type Words [2]uint64

// Words returns the state as two words; ok is false where it has none, or needs
// more.
func (s *State) Words() (w Words, ok bool) {
	switch s.algorithm {
	case TokenBucket, Pacer:
		return Words{s.bucket.Missing.lo, uint64(s.bucket.At)}, s.bucket.Missing.hi == 0
	case FixedWindow:
		return Words{uint64(s.fixed.Count), uint64(s.fixed.End)}, true
	default:
		return Words{}, false
	}
}

// Under reports whether the state keeps the rate of a limit: where it does, its
// words and the limit are the state.
func (s *State) Under(l *Limit) bool {
	return s.algorithm != TokenBucket && s.algorithm != Pacer || s.bucket.under(l)
}

// State returns the state that was written under the limit's numbers.
func (w Words) State(l *Limit) State {
	if l.Algorithm == FixedWindow {
		return StoredFixed(int64(w[0]), int64(w[1]))
	}
	return State{algorithm: l.Algorithm, bucket: Bucket{Missing: uint128{lo: w[0]}, Count: l.Count, Period: l.Period, At: int64(w[1])}}
}

// Expires returns the instant, of elapsed time, from which the state equals
// absence.
func (w Words) Expires(l *Limit, t Instant) int64 {
	if l.Algorithm == FixedWindow {
		return int64(w[1]) - l.clock(t) + t.Now
	}
	return int64(w[1]) + uint128{lo: w[0]}.ceilOver(l.Count)
}
