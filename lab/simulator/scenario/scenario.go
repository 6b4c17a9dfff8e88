package scenario

import (
	"slices"

	"github.com/headgate/headgate/lab/simulator/model"
)

// Scenario describes a server, its clients, and the events of a simulation.
type Scenario struct {
	Name, About string
	// Build returns the configuration for a seed.
	Build func(seed uint64) model.Config
	// Proxies is the number of gates. Each gate serves some of the tenants. 0 means one gate for all tenants.
	Proxies int
	// Extra lists the scenario's gates in addition to [Gates].
	Extra []Gate
}

// Durations in µs.
const (
	second = 1_000_000
	minute = 60 * second
	hour   = 60 * minute
)

// In most scenarios, the server has ten workers and takes 100 ms per request, so it can handle 100 requests per
// second.
const (
	workers  = 10
	mean     = 100_000
	deadline = 2 * second
)

func server() model.Server {
	return model.Server{
		Workers: model.Constant(workers),
		Service: model.Service{Shape: model.Lognormal, Mean: mean, Spread: 0.5},
		CPU:     0.5,
	}
}

// open returns an open client that sends at the given rate and does not retry.
func open(rate model.Course) []model.Client { return []model.Client{{Rate: rate, Deadline: deadline}} }

// All returns the scenarios in the order of the report.
func All() []Scenario { return slices.Concat(steady(), overload(), sick(), clients()) }

// Named returns the scenario with the given name. The second result reports whether it exists.
func Named(name string) (Scenario, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}
