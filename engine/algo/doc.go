// Package algo has the arithmetic of every limit: pure steps from (state, limit, now,
// cost) to (state, outcome).
//
// Nothing here reads a clock, takes a lock or does I/O, and no float takes part.
// Instants and spans are whole microseconds; counts are whole units. The same steps exist
// as Lua inside Redis. Tests compare both with a model that uses big integers.
//
// The files and what they contain:
//
//	limit.go     the numbers of one limit
//	state.go     what a store keeps for one limit of one key
//	steps.go     one request against one or several limits, all or nothing
//	quick.go     what most decisions are, on a state in two words
//	bucket.go    token bucket, GCRA, leaky bucket; pacer
//	fixed.go     fixed window; calendar.go and calendar_span.go its calendar
//	window.go    sliding window over segments
//	log.go       sliding log
//	history.go   the list of spent units that both of these keep
//	concurrency.go  units held at the same time; hold.go its verbs
//	uint128.go   amounts beyond 64 bits
//
// "rule N" and "known bug N" in comments stand in docs/design/rules.md and
// docs/design/known-bugs.md.
//
// Use this package to write a store. To limit requests, use the root package.
package algo
