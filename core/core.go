// Package core runs engine operations on a limiter, and has the rules of keys that middleware and routes share. It is for
// the servers, adapters and tests in this repository. Programs use package headgate.
package core

import (
	"context"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/inside"
)

// Result is the result of one operation.
type Result = inside.Result[*headgate.Reservation]

// Observer is called after each decided operation: see [WithObserver].
type Observer = func(ctx context.Context, op *engine.Op, result *Result)

var (
	do           = inside.Do.(func(*headgate.Limiter, context.Context, []engine.Op, []Result) []Result)
	withObserver = inside.WithObserver.(func(Observer) headgate.Option)
	space        = inside.Space.(func(*headgate.Limiter, string) string)
	openOf       = inside.OpenOf.(func(*headgate.Limiter, context.Context, string, int, ...string) ([]*engine.Reservation, error))
	watchTerms   = inside.WatchTerms.(func(*headgate.Limiter))
	policy       = inside.Policy.(func(*headgate.Limiter, string, ...engine.Limit) *headgate.Policy)
	semaphore    = inside.Semaphore.(func(*headgate.Limiter, string, ...engine.Limit) *headgate.Semaphore)
	limits       = inside.Limits.(func(*headgate.Policy) []engine.Limit)
	paces        = inside.Paces.(func(*headgate.Policy) bool)
	charge       = inside.Charge.(func(*headgate.Policy, context.Context, string, int64) (*headgate.Limiter, engine.Op, Result))
	chargeAll    = inside.ChargeAll.(func(*headgate.Limiter, context.Context, []headgate.Charge, bool) (engine.Op, headgate.Decision, Result))
	adapts       = inside.Adapts.(func(*headgate.Policy) bool)
	outcomes     = inside.Outcomes.(func(*headgate.Limiter, *engine.Op) func(bool, time.Duration))
	outcomeClock = inside.WithOutcomeClock.(func(func() time.Time) headgate.Option)
	settleAll    = inside.SettleAll.(func(*headgate.Reservation, context.Context, int64) error)
	term         = inside.Term.(func(*headgate.Reservation) *engine.Term)
)

// Do decides up to [engine.MaxOps] operations in one call, in order. Each is atomic and has its own result. If there
// are more operations, every result is an error. The results reuse memory, which may be nil. Do sets the limiter's
// namespace in operations that have none.
func Do(ctx context.Context, l *headgate.Limiter, ops []engine.Op, memory []Result) []Result {
	return do(l, ctx, ops, memory)
}

// WithObserver sets a function that is called after each decided operation, on the caller's goroutine. The function
// must be fast and safe for concurrent calls. The operation, the result and the bytes of their strings are valid only
// during the call. Fields of the result that do not apply to the kind of operation are zero.
func WithObserver(observer Observer) headgate.Option { return withObserver(observer) }

// Space returns a namespace as the limiter passes it to the store. If [headgate.WithSpace] set a namespace for the
// limiter, Space adds it as a prefix.
func Space(l *headgate.Limiter, of string) string { return space(l, of) }

// OpenOf returns the open reservations that have a term and charged the given key, up to the given maximum number. It
// returns nil if the store does not keep reservations. On a single Redis, it reads all open reservations. On a Cluster,
// it finds a reservation on a fair-share limit only by the key of the limit's counter ([engine.Limit.Counts]).
func OpenOf(ctx context.Context, l *headgate.Limiter, key string, most int, under ...string) ([]*engine.Reservation, error) {
	return openOf(l, ctx, key, most, under...)
}

// WatchTerms makes the limiter end overdue reservations, including other processes' reservations, until Close. A
// reserve with a term has the same effect. If the store does not keep reservations, WatchTerms does nothing.
func WatchTerms(l *headgate.Limiter) { watchTerms(l) }

// Adapts reports whether any of the policy's limits has an adaptive rate.
func Adapts(p *headgate.Policy) bool { return adapts(p) }

// Outcomes returns a function that reports, for the operation's keys, how an allowed request ended, in the same way as
// [headgate.Policy.Outcome]. It returns nil if no limit has an adaptive rate.
func Outcomes(l *headgate.Limiter, op *engine.Op) (report func(failed bool, retryAfter time.Duration)) {
	return outcomes(l, op)
}

// WithOutcomeClock sets the clock for the age of reported outcomes, in place of the system's clock.
func WithOutcomeClock(now func() time.Time) headgate.Option { return outcomeClock(now) }

// Policy acts like [headgate.Limiter.Policy] for engine limits. The name "" selects the namespace for limits without a
// policy, which servers use for limits in requests.
func Policy(l *headgate.Limiter, name string, limits ...engine.Limit) *headgate.Policy {
	return policy(l, name, limits...)
}

// Semaphore acts like [headgate.Limiter.Semaphore] for engine limits.
func Semaphore(l *headgate.Limiter, name string, limits ...engine.Limit) *headgate.Semaphore {
	return semaphore(l, name, limits...)
}

// Limits returns the policy's limits in order, with their names in the policy.
func Limits(p *headgate.Policy) []engine.Limit { return limits(p) }

// Paces reports whether an allowed request can be delayed, because one of the limits is a pacer.
func Paces(p *headgate.Policy) bool { return paces(p) }

// Term returns the reservation's term, or nil.
func Term(r *headgate.Reservation) *engine.Term { return term(r) }
