package model

// algorithm holds the functions and properties that differ between algorithms. Each file registers its own algorithms.
type algorithm struct {
	// names lists the names that a limit can use. The first is also part of the counter's name.
	names []string
	// check returns an error for invalid parameters.
	check func(l Limit) error
	// absent returns the state of an unused limit. It is nil for an algorithm with its own verbs.
	absent func(l Limit, now int64) view
	// grid returns the parameters that are part of a counter's name. It is nil if no parameter is part of the name.
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
