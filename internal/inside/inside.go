// Package inside gives package core access to functions that package headgate does not export, because they are not
// for programs. Package headgate stores the functions in this package's variables, and package core converts them
// back to their types.
package inside

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Result is the result of one operation. D is headgate.Decision, and R is *headgate.Reservation.
type Result[D, R any] struct {
	// Decision is valid if Err is nil.
	Decision D
	// Standing is for a peek of one limit that divides its units among keys: the limit's answer.
	Standing *engine.Standing
	// Found is for a reset, an expiry, a release and a settle. It is true if there was anything to reset, look up,
	// release or settle.
	Found bool
	// Dropped is for a settle: the number of used units that could not be charged. If there are several limits, it is
	// the highest such number.
	Dropped int64
	// TTL is for an expiry: the remaining lifetime of the key's state.
	TTL time.Duration
	// Reservation is set after an allowed reserve, and after an allowed allow with Settled.
	Reservation R
	// Err is set if the operation was not decided.
	Err error
}

// These variables hold the functions of package core, in the order of its documentation.
var (
	Do, WithObserver, Space, OpenOf, WatchTerms any
	Policy, Semaphore, Limits, Paces, Charge    any
	Term, SettleAll, Outcomes, Adapts           any
	WithOutcomeClock, ChargeAll                 any
)
