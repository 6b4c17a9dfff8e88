package adminapi

import (
	"cmp"
	"slices"
	"time"
)

// busiest is the number of policies listed for a second: those with the most requests.
const busiest = 20

// Rates contains the numbers of decisions per second, for requests that take units.
type Rates struct {
	Allowed float64 `json:"allowed"`
	Denied  float64 `json:"denied"`
	// Unknown is the rate of requests without a decision, because the store failed.
	Unknown float64 `json:"unknown"`
	Invalid float64 `json:"invalid"`
}

// All returns the sum of the rates: all requests per second.
func (r *Rates) All() float64 { return r.Allowed + r.Denied + r.Unknown + r.Invalid }

// PolicyRates are the rates of one policy.
type PolicyRates struct {
	Policy string `json:"policy"`
	Rates
}

// Second describes the requests in about one second. The rates are per second, computed from the exact length of the
// interval.
type Second struct {
	// At is the end of the second, in ms since 1970.
	At int64 `json:"at_ms"`
	Rates

	// P50 and P99 are quantiles of the durations of clients' calls, in µs: half of them took at most P50. They are
	// omitted if there were no calls.
	P50 *float64 `json:"p50_us,omitempty"`
	P99 *float64 `json:"p99_us,omitempty"`
	// Policies are the policies with the most requests, at most 20.
	Policies []PolicyRates `json:"policies"`
	// Modes are the decisions per second by mode. Only snapshots show them.
	Modes map[string]float64 `json:"-"`
}

// NewSecond returns a second that ends at an instant, without requests.
func NewSecond(end time.Time) Second {
	return Second{At: end.UnixMilli(), Policies: []PolicyRates{}, Modes: map[string]float64{}}
}

// Add adds the rates of a policy to the sums and to Policies.
func (s *Second) Add(policy string, r Rates) {
	s.Allowed, s.Denied, s.Unknown, s.Invalid = s.Allowed+r.Allowed, s.Denied+r.Denied, s.Unknown+r.Unknown, s.Invalid+r.Invalid
	s.Policies = append(s.Policies, PolicyRates{policy, r})
}

// KeepBusiest keeps only the 20 policies with the most requests.
func (s *Second) KeepBusiest() {
	slices.SortFunc(s.Policies, func(a, b PolicyRates) int {
		return cmp.Or(cmp.Compare(b.All(), a.All()), cmp.Compare(a.Policy, b.Policy))
	})
	s.Policies = slices.Clone(s.Policies[:min(len(s.Policies), busiest)])
}
