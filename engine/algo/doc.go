// Package algo contains the arithmetic of every limit: pure steps from (state, limit, now, cost) to (state, outcome).
//
// Nothing here reads a clock, takes a lock, does I/O or uses floats. Instants and spans are whole microseconds;
// counts are whole units. The same steps are implemented in Lua inside Redis. Tests compare both with a model that
// uses big integers.
//
// The files and what they contain:
//
//	algorithm.go    the properties and functions of an algorithm
//	table.go        the algorithms, and queries of their properties
//	limit.go        the numbers of one limit
//	state.go        the stored state of one limit of one key; words.go its short form
//	steps.go        one request against one or several limits, all or nothing
//	reserve.go      a request that waits for its units, and its settlement
//	fastpath.go     the most common decisions, on a state of two words
//	share.go        the share of a limit that one of several processes enforces
//	bucket.go       token bucket, GCRA, leaky bucket; bucket_held.go its reservations
//	pacer.go        pacer: a bucket with a queue
//	fixed.go        fixed window; calendar.go and calendar_span.go its calendar
//	window.go       sliding window over segments
//	log.go          sliding log; history.go the list of spent units that both keep
//	warmup.go       warm-up
//	fair.go         fair share; fair_pacer.go and fair_concurrency.go the other limits that divide their units
//	adaptive.go     adaptive rate
//	penalty.go      penalty
//	concurrency.go  units held at the same time; hold.go its verbs
//	constant.go     deny and unlimited
//	uint128.go      amounts beyond 64 bits
//
// "rule N" and "bug N" in comments refer to docs/design/rules.md and docs/design/known-bugs.md.
//
// Use this package to write a store. To limit requests, use the root package.
package algo
