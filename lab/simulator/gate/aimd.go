package gate

import "github.com/headgate/headgate/lab/simulator/model"

// AIMD is the AIMDLimit of Netflix/concurrency-limits. A sample with at least half the limit in use raises the limit
// by one. A failed sample, or one above the latency bound, cuts it by a tenth.
// https://github.com/Netflix/concurrency-limits
//
// Known fault: it oscillates forever (camunda/camunda#8298).
type AIMD struct {
	limit, Min, Max float64
	// Backoff is the factor for lowering the limit. Timeout is the latency bound in µs.
	Backoff float64
	Timeout int64
}

// NewAIMD returns an AIMD with the library's default settings, but with the given latency bound in µs. The
// library's default bound is 5 s.
func NewAIMD(timeout int64) *AIMD {
	return &AIMD{limit: 20, Min: 20, Max: 200, Backoff: 0.9, Timeout: timeout}
}

// Limit returns the current limit on attempts in flight.
func (a *AIMD) Limit() float64 { return a.limit }

// Observe raises or cuts the limit after an attempt, as described for [AIMD].
func (a *AIMD) Observe(_ int64, s model.Sample) {
	switch {
	case s.Failed || s.RTT > a.Timeout:
		a.limit = float64(int(a.limit * a.Backoff))
	case float64(s.Inflight)*2 >= a.limit:
		a.limit++
	}
	a.limit = min(max(a.limit, a.Min), a.Max)
}
