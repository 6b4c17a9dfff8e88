package model

// algorithm holds the parts that differ between algorithms. Each file registers its own algorithms.
type algorithm struct {
	// names has the names that a limit can use. The first is also the counter's.
	names []string
	// check rejects invalid numbers.
	check func(l Limit) error
	// absent returns the state of a limit that is not stored. It is nil for a limit with its own verbs.
	absent func(l Limit, now int64) view
	// grid returns the numbers that are part of a counter's name. It is nil if there are none.
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
