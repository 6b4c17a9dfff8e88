package algo

import "slices"

// Algorithm determines how a limit counts. Its name is part of store keys, and its number is part of the states in
// snapshots, so neither may change.
type Algorithm uint8

// The algorithms. The zero value, None, means no state or an invalid limit.
const (
	None Algorithm = iota
	TokenBucket
	Pacer
	FixedWindow
	SlidingWindow
	SlidingLog
	WarmUp
	Concurrency
	DenyAll
	Unlimited
	FairShare
	Penalty
	AdaptiveRate
	FairConcurrency
	FairPacer
	algorithmCount
)

// algorithms is the only table of algorithms. No other code that is not a test distinguishes them, except bucket.go and
// the fast paths in fastpath.go and words.go: see TestNoSwitchOverAlgorithms.
var algorithms = [algorithmCount]algorithm{
	None:            none,
	TokenBucket:     tokenBucket,
	Pacer:           pacer,
	FixedWindow:     fixedWindow,
	SlidingWindow:   slidingWindow,
	SlidingLog:      slidingLog,
	WarmUp:          warmUp,
	Concurrency:     concurrency,
	DenyAll:         denyAll,
	Unlimited:       unlimited,
	FairShare:       fairShare,
	Penalty:         penalty,
	AdaptiveRate:    adaptiveRate,
	FairConcurrency: fairConcurrency,
	FairPacer:       fairPacer,
}

// traits contains the properties for every value of an Algorithm. Decisions read it several times. It has an entry for
// each of the 256 values, so that no bounds checks are necessary.
var traits [1 << 8]properties

// ways contains, for every value of an Algorithm, the sets of fields that the faster ways support.
var ways [1 << 8]struct{ fast, prefetchable Fields }

// If an entry is missing or a way lists an unknown field, every program that imports the package panics.
func init() {
	nameFields()
	supported := func(names []string) Fields {
		if names == nil {
			return 0
		}
		return FieldsOf(names...)
	}
	for a := range algorithms {
		e := &algorithms[a]
		if e.name == "" || e.on == nil || e.shares == nil {
			panic("algo: an algorithm has no entry in the table")
		}
		traits[a] = e.properties
		w := &ways[a]
		w.fast, w.prefetchable = supported(e.fast), supported(e.prefetchable)
	}
}

// entry returns the algorithm's entry, or None's entry for an invalid number.
func (a Algorithm) entry() *algorithm {
	if a >= algorithmCount {
		a = None
	}
	return &algorithms[a]
}

// Algorithms returns all algorithms, without None.
func Algorithms() []Algorithm {
	all := make([]Algorithm, 0, algorithmCount-1)
	for a := TokenBucket; a < algorithmCount; a++ {
		all = append(all, a)
	}
	return all
}

// Code returns the two letters that name the algorithm in store keys. It is "" if limits of the algorithm have no state.
func (a Algorithm) Code() string { return a.entry().code }

// String returns the name used in configuration files.
func (a Algorithm) String() string {
	if a >= algorithmCount {
		return "unknown"
	}
	return algorithms[a].name
}

// Names returns the algorithm's name followed by its aliases in configuration files.
func (a Algorithm) Names() []string {
	return slices.Concat([]string{a.String()}, a.entry().aliases)
}

// HasName reports whether the name is the algorithm's name or one of its aliases. Unlike Names, it does not allocate.
func (a Algorithm) HasName(name string) bool {
	return a.String() == name || slices.Contains(a.entry().aliases, name)
}

// Fields returns the names of the fields that a limit of the algorithm can have in addition to its rate, in the order
// of its text form.
func (a Algorithm) Fields() []string { return slices.Clone(a.entry().fields) }

// Has reports whether limits of the algorithm can have the field.
func (a Algorithm) Has(field string) bool { return slices.Contains(a.entry().fields, field) }

// Constant reports whether the limit gives every request the same answer, without a rate or a state.
func (a Algorithm) Constant() bool { return a.AllowsAll() || a.DeniesAll() }

// DeniesAll reports whether every request is denied.
func (a Algorithm) DeniesAll() bool { return traits[a].deniesAll }

// BurstIsCount reports whether the default burst is the count of the rate. For other limits that refill, the default
// burst is 1.
func (a Algorithm) BurstIsCount() bool { return traits[a].burstIsCount }

// Paces reports whether an allowed request may have to wait for a delay.
func (a Algorithm) Paces() bool { return a.entry().delay != nil }

// CountsHits reports whether [Count] supports limits of the algorithm.
func (a Algorithm) CountsHits() bool { return traits[a].countsHits }

// TwoWords reports whether a state of the algorithm fits into two words, unless its amounts are too large: see
// [State.Words].
func (a Algorithm) TwoWords() bool { return traits[a].twoWords }
