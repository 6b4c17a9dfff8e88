package gate

import (
	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/lab/simulator/model"
)

// Headgate is the controller in package adaptive.
type Headgate struct{ *adaptive.Controller }

// NewHeadgate returns a gate whose controller uses the given settings.
func NewHeadgate(c adaptive.Config) (Headgate, error) {
	controller, err := adaptive.NewController(c)
	return Headgate{controller}, err
}

// Allow passes the number of attempts in flight to the controller, which decides.
func (h Headgate) Allow(now int64, a model.Attempt) (bool, int64) {
	return h.Controller.Allow(now, int64(a.Inflight)-1), 0
}

// Done passes the sample to the controller.
func (h Headgate) Done(now int64, s model.Sample) { h.Controller.Done(now, s.RTT, s.Failed) }

// Limit returns the controller's current limit on attempts in flight.
func (h Headgate) Limit() float64 { return float64(h.Controller.Limit()) }
