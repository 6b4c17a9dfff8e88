package algo

// Instant is the store's time, in microseconds since 1970.
type Instant struct {
	// Now is the wall clock's time at the start plus elapsed time, so it does not jump.
	Now int64
	// Wall is the wall clock, for windows aligned to the clock or the calendar. A store with a single clock sets Now
	// and Wall to the same value.
	Wall int64
}

// State is the stored state of one limit of one key. The zero State means no state: all units of the limit are
// available. Do not keep two copies of a State, because copies share their lists.
type State struct {
	algorithm  Algorithm
	bucket     Bucket
	fixed      Fixed
	segments   slides
	log        logs
	warmBucket warmState
	permits    permits
	strikes    strikesState
	*extra
}

// extra is the additional state of limits that need more than a bucket. It is stored by pointer, so that other states
// stay small.
type extra struct {
	parts   parts   // of a fair-share limit
	adapted adapted // of an adaptive rate
}

// Absent reports whether there is nothing to store.
func (s *State) Absent() bool { return s.algorithm == None }

// Of reports whether the state belongs to the algorithm.
func (s *State) Of(a Algorithm) bool { return s.algorithm == a }
