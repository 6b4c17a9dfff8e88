package model

// algorithm is the part that differs between algorithms. Each file registers its own.
type algorithm struct {
	// names are the names of a limit; the first is the counter's.
	names []string
	// check rejects invalid numbers.
	check func(l Limit) error
	// absent is the state of a limit that is not stored. It is nil for a limit with its own verbs.
	absent func(l Limit, now int64) view
	// grid returns the numbers that are part of a counter's identity. It is nil if no numbers are.
	grid func(l Limit) string
	// shared is true if all keys of a test case share one counter.
	shared bool
}

var algorithms = map[string]*algorithm{}

func register(a algorithm) bool {
	for _, name := range a.names {
		algorithms[name] = &a
	}
	return true
}
