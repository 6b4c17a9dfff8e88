package model

// algorithm is what differs between algorithms. Each registers its own in its file.
type algorithm struct {
	// names are those of a limit; the first is the counter's.
	names []string
	// check rejects numbers that must not be built.
	check func(l Limit) error
	// absent is the state of a limit that is not stored; nil for one with verbs of its own.
	absent func(l Limit, now int64) view
	// grid is what makes another counter of a limit; nil if its numbers never do.
	grid func(l Limit) string
	// shared: all keys of a case count in one counter.
	shared bool
}

var algorithms = map[string]*algorithm{}

func register(a algorithm) bool {
	for _, name := range a.names {
		algorithms[name] = &a
	}
	return true
}
