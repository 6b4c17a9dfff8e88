package engine

import "context"

// Binder is a [Store] that can look up ahead of the requests what those on one limit in
// one name space have in common. It is for stores in memory, where the look-ups of a
// request take as long as its decision.
type Binder interface {
	Store
	// Bind returns nil for a limit that only Do decides.
	Bind(space string, limit Limit) Bound
}

// Bound is a limit in a name space of a store, looked up.
type Bound interface {
	// Allow charges the key the cost, as an [OpAllow] does. If it cannot decide at once,
	// Decided is false, and nothing was changed: [Store].Do then has the answer, be it an
	// error. Allow does not keep the key.
	Allow(ctx context.Context, key string, cost int64) Simple
}

// Simple is the answer of a [Bound]: an [Outcome] without a delay, and exact. Its limit is
// the limit's capacity.
type Simple struct {
	Decided, Allowed bool
	// AtMicros is the store's time of the decision, in µs since 1970.
	AtMicros int64
	// Remaining is how many units are left, rounded down.
	Remaining int64
	// RetryAfter and ResetAfter are those of a [Standing], in µs.
	RetryAfter, ResetAfter int64
}
