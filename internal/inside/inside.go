// Package inside connects package operate to package headgate, whose exported names are for programs. Package headgate
// sets the variables of this package to functions that use headgate's types, and package operate restores these types.
package inside

import "time"

// Result is the answer to one operation, with the decision D and the reservation R of package headgate.
type Result[D, R any] struct {
	// Decision is the answer. It is valid if Err is nil.
	Decision D
	// Found is set by a reset, an expiry, a release and a settle: it reports whether there was anything to find or
	// settle.
	Found bool
	// Dropped is set by a settle: the number of used units that could not be charged, on the limit with the most such
	// units.
	Dropped int64
	// TTL is set by an expiry: the time until the counter is full again.
	TTL time.Duration
	// Reservation is set by an allowed reserve, and by an allowed allow with Settled.
	Reservation R
	// Err is set if the operation was not decided.
	Err error
}

// The functions of package operate, in the order of its page.
var (
	Do, WithObserver, Space, OpenOf, WatchTerms any
	Policy, Semaphore, Limits, Paces, Charge    any
	Term, Outcomes, Adapts                      any
)
