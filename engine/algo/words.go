package algo

// Words is a state in two words ([Algorithm.TwoWords]), for stores with many keys: a bucket's missing amount and
// instant, or a window's count and end. The store keeps the limit of each state separately.
//
// The memory store reads and writes nearly every state in this form, so these functions distinguish the two kinds
// themselves. If they used the table, a decision would take 3 % more instructions (BenchmarkSteps in memstore).
type Words [2]uint64

// Words returns the state as two words. ok is false if the algorithm does not support this form, or the state needs
// more space.
func (s *State) Words() (w Words, ok bool) {
	if s.algorithm == FixedWindow {
		return Words{uint64(s.fixed.Count), uint64(s.fixed.End)}, true
	}
	return Words{s.bucket.Missing.lo, uint64(s.bucket.At)}, s.algorithm.TwoWords() && s.bucket.Missing.hi == 0 && s.bucket.slots == nil
}

// Under reports whether the state was written with the limit's rate. If so, the words and the limit describe the whole
// state. It is always true for a state without a rate, such as a fixed window's.
func (s *State) Under(l *Limit) bool {
	return s.algorithm == FixedWindow || !s.algorithm.TwoWords() || s.bucket.under(l)
}

// State returns the state that the words describe, if they were written under the limit.
func (w Words) State(l *Limit) State {
	if l.Algorithm == FixedWindow {
		return StoredFixed(int64(w[0]), int64(w[1]))
	}
	return State{algorithm: l.Algorithm, bucket: Bucket{Missing: uint128{lo: w[0]}, Count: l.Count, Period: l.Period, At: int64(w[1])}}
}

// Expires returns the instant, in elapsed time, from which the state is equivalent to no state.
func (w Words) Expires(l *Limit, t Instant) int64 {
	if l.Algorithm == FixedWindow {
		return int64(w[1]) - l.clock(t) + t.Now
	}
	return int64(w[1]) + uint128{lo: w[0]}.ceilOver(l.Count)
}
