package algo

// Sizes in memory, for the bounds of a store that keeps states as they are.
const (
	entryBytes  = 16  // a segment or an entry of a log
	permitBytes = 192 // a permit with its holder's id, twice
	holderBytes = 96  // a key of a limit that divides its permits
)

// Bytes returns about how much memory the lists of the state take. A state without lists has a fixed size, and returns
// 0. The number of parts of a fair share is bounded by the limit, so they do not count.
func (s *State) Bytes() int {
	switch {
	case s.segments.Segments != nil:
		return entryBytes * cap(s.segments.items)
	case s.log.Log != nil:
		return entryBytes * cap(s.log.items)
	case s.permits.Permits != nil:
		return permitBytes*len(s.permits.list) + holderBytes*len(s.permits.byKey)
	default:
		return 0
	}
}
