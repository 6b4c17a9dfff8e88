// Package inside gives package operate access to package headgate, whose exported names are for programs only. Package
// headgate sets the variables in this package to functions that use headgate's types. Package operate restores these
// types.
package inside

import "time"

// Result is the result of one operation. D is package headgate's Decision, and R its *Reservation.
type Result[D, R any] struct {
	// Decision is valid if Err is nil.
	Decision D
	// Found is for a reset, an expiry, a release and a settle. It reports whether there was anything to find or
	// settle.
	Found bool
	// Dropped is for a settle: the number of used units that could not be charged, on the limit with the most such
	// units.
	Dropped int64
	// TTL is for an expiry: the time until the counter is full again.
	TTL time.Duration
	// Reservation is set after an allowed reserve, and after an allowed allow with Settled.
	Reservation R
	// Err is set if the operation was not decided.
	Err error
}

// The functions of package operate, in the order of its documentation.
var (
	Do, WithObserver, Space, OpenOf, WatchTerms any
	Policy, Semaphore, Limits, Paces, Charge    any
	Term, Outcomes, Adapts, WithOutcomeClock    any
)
