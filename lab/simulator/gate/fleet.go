package gate

import "github.com/headgate/headgate/lab/simulator/model"

// Fleet consists of several gates in front of one server. Each gate receives only the attempts of its own tenants, like
// limiters in several proxies.
type Fleet struct {
	gates    []model.Gate
	inflight []int
	// entered holds, for each slot, the number of attempts that were in flight at the gate when the slot's attempt was
	// admitted.
	entered []int
}

// NewFleet returns a gate that sends tenant i to gates[i % len(gates)].
func NewFleet(gates []model.Gate) *Fleet {
	return &Fleet{gates: gates, inflight: make([]int, len(gates))}
}

// Allow calls the tenant's gate.
func (f *Fleet) Allow(now int64, a model.Attempt) (bool, int64) {
	i := a.Tenant % len(f.gates)
	a.Inflight = f.inflight[i] + 1
	allowed, wait := f.gates[i].Allow(now, a)
	if allowed {
		for int(a.Slot) >= len(f.entered) {
			f.entered = append(f.entered, 0)
		}
		f.inflight[i]++
		f.entered[a.Slot] = f.inflight[i]
	}
	return allowed, wait
}

// Done passes the sample to the tenant's gate.
func (f *Fleet) Done(now int64, s model.Sample) {
	i := s.Tenant % len(f.gates)
	f.inflight[i]--
	s.Inflight, s.Left = f.entered[s.Slot], f.inflight[i]
	f.gates[i].Done(now, s)
}

// Tick passes the load to all gates.
func (f *Fleet) Tick(now int64, l model.Load) {
	for _, g := range f.gates {
		if w, ok := g.(model.Watcher); ok {
			w.Tick(now, l)
		}
	}
}

// Limit returns the sum of the gates' limits.
func (f *Fleet) Limit() (sum float64) {
	for _, g := range f.gates {
		sum += g.Limit()
	}
	return sum
}
