package gate

import "github.com/headgate/headgate/lab/simulator/model"

// Controller adjusts a limit on the number of attempts in flight.
type Controller interface {
	Limit() float64
	// Observe is called at the end of each admitted attempt.
	Observe(now int64, s model.Sample)
}

// Adaptive admits attempts while the number in flight is below the controller's limit.
type Adaptive struct {
	Controller
}

// NewAdaptive returns a gate that uses the controller's limit.
func NewAdaptive(c Controller) *Adaptive {
	return &Adaptive{Controller: c}
}

// Allow admits the attempt if the attempts in flight, including this one, do not exceed the limit.
func (a *Adaptive) Allow(_ int64, attempt model.Attempt) (bool, int64) {
	return attempt.Inflight <= int(a.Limit()), 0
}

// Done passes the sample to the controller.
func (a *Adaptive) Done(now int64, s model.Sample) { a.Observe(now, s) }
