package engine

import "context"

// Binder is a [Store] that can look up a limit and its namespace in advance. It is for in-memory stores, where the
// lookups of a request take as long as its decision.
type Binder interface {
	Store
	// Bind returns nil for a limit that only Do can decide.
	Bind(space string, limit Limit) Bound
}

// Bound is a limit in a namespace, both already looked up by the store.
type Bound interface {
	// Allow charges the cost to the key, like an [OpAllow]. If it cannot decide, Decided is false and nothing has
	// changed. In that case the caller must use [Store].Do, which returns the answer or the error. Allow does not
	// retain the key.
	Allow(ctx context.Context, key string, cost int64) Simple
}

// Simple is the answer from a [Bound]: an exact [Answer] without a delay. Its Limit is the limit's capacity.
type Simple struct {
	Decided, Allowed bool
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Remaining is the number of units left, rounded down.
	Remaining int64
	// RetryAfter and ResetAfter have the same meaning as in [Standing], but are in µs.
	RetryAfter, ResetAfter int64
}
