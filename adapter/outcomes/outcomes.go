// Package outcomes classifies the results of requests. The counters of the server, and of the adapters that observe a
// limiter, use it so that they share the same words and the same bound on the number of policies.
package outcomes

import (
	"errors"

	"github.com/headgate/headgate/engine"
)

// Outcome is the class of a result.
type Outcome uint8

const (
	// Allowed and Denied are decisions.
	Allowed Outcome = iota
	Denied
	// Unknown means that the decision is not known because of an error.
	Unknown
	// Invalid means an error in the request, one that matches [engine.ErrInvalid].
	Invalid
	// Count is the number of outcomes.
	Count
)

// Modes is the number of promise modes.
const Modes = int(engine.Leased) + 1

// String returns the outcome as the value of a metric label.
func (o Outcome) String() string { return [Count]string{"allowed", "denied", "unknown", "invalid"}[o] }

// Of returns a request's outcome.
func Of(allowed bool, err error) Outcome {
	switch {
	case errors.Is(err, engine.ErrInvalid):
		return Invalid
	case err != nil:
		return Unknown
	case allowed:
		return Allowed
	default:
		return Denied
	}
}

// Table contains one value for each outcome and mode.
type Table[V any] [Count][Modes]V

// At returns a pointer to the value for a result. An error has no mode, so its value is in the first column.
func (t *Table[V]) At(allowed bool, mode engine.Mode, err error) *V {
	if err != nil {
		mode = 0
	}
	return &t[Of(allowed, err)][min(int(mode), Modes-1)]
}

// Each calls f with each value and its labels. For an error, the mode is "".
func (t *Table[V]) Each(f func(outcome, mode string, v *V)) {
	for o := range t {
		if Outcome(o) >= Unknown {
			f(Outcome(o).String(), "", &t[o][0])
			continue
		}
		for mode := range t[o] {
			f(Outcome(o).String(), engine.Mode(mode).String(), &t[o][mode])
		}
	}
}
