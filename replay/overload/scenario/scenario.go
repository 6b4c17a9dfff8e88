package scenario

import (
	"slices"

	"github.com/headgate/headgate/replay/overload/model"
)

// Scenario is a situation of a server and its clients.
type Scenario struct {
	Name, About string
	// Build returns the run for a seed.
	Build func(seed uint64) model.Config
	// Proxies is the number of gates, each for a part of the tenants; 0 is one gate for all.
	Proxies int
	// Extra gates take part besides those of all scenarios.
	Extra []Gate
}

// Spans in µs.
const (
	second = 1_000_000
	minute = 60 * second
	hour   = 60 * minute
)

// The server of most scenarios: ten workers, 100 ms a request, so 100 requests a second.
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

// open returns clients with a rate and no retries.
func open(rate model.Course) []model.Client { return []model.Client{{Rate: rate, Deadline: deadline}} }

// All returns the scenarios in the order of the report.
func All() []Scenario { return slices.Concat(steady(), overload(), sick(), clients()) }

// Named returns a scenario, and whether there is one of that name.
func Named(name string) (Scenario, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}
