package algo

// Words is a state in two words ([Algorithm.InWords]), for stores with many keys: what is
// missing from a bucket and the instant, or a window's count and end. The store keeps the
// numbers under which the state was written elsewhere.
type Words [2]uint64

// Words returns the state as two words; ok is false if there is no such form, or the
// state needs more.
func (s *State) Words() (w Words, ok bool) {
	if form := s.algorithm.entry().words; form != nil {
		return form.words(s)
	}
	return Words{}, false
}

// Under reports whether the state keeps the limit's rate. If so, its words and the limit
// are the whole state.
func (s *State) Under(l *Limit) bool {
	form := s.algorithm.entry().words
	return form == nil || form.under(s, l)
}

// State returns the state that was written under the limit's numbers.
func (w Words) State(l *Limit) State { return l.Algorithm.entry().words.state(w, l) }

// Expires returns the instant, in elapsed time, from which the state equals no state.
func (w Words) Expires(l *Limit, t Instant) int64 { return l.Algorithm.entry().words.expires(w, l, t) }
