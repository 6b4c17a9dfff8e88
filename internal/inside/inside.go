// Package inside gives package core access to functions that package headgate does not export, because they are not
// for programs. Package headgate stores the functions in this package's variables, and package core converts them
// back to their types.
package inside

import (
	"github.com/headgate/headgate/engine"
)

// Result is the answer to one operation. R is *headgate.Reservation.
type Result[R any] struct {
	engine.Answer
	// Reservation is set after an allowed reserve, and after an allowed allow with Settled.
	Reservation R
}

// These variables hold the functions of package core, in the order of its documentation.
var (
	Do, WithObserver, Space, OpenOf, WatchTerms any
	Policy, Semaphore, Limits, Paces, Charge    any
	Term, SettleAll, Outcomes, Adapts           any
	WithOutcomeClock, ChargeAll                 any
)
