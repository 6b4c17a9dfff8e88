package scenario

import "github.com/headgate/headgate/lab/simulator/model"

// overload returns scenarios with more requests than the server can handle.
func overload() []Scenario {
	return []Scenario{
		{Name: "step", About: "50 requests a second, 200 for three minutes, then 90; every request is CPU time", Build: func(seed uint64) model.Config {
			s := server()
			s.CPU = 1
			return model.Config{
				Seed: seed, Length: 10 * minute, Server: s, Phases: []int64{0, 2 * minute, 5 * minute},
				Clients: open(model.Steps(model.Point{At: 0, Value: 50}, model.Point{At: 2 * minute, Value: 200}, model.Point{At: 5 * minute, Value: 90})),
			}
		}},
		{Name: "modest overload", About: "120 requests a second for an hour", Build: func(seed uint64) model.Config {
			s := server()
			s.CPU = 1
			return model.Config{Seed: seed, Length: hour, Server: s, Clients: open(model.Constant(120))}
		}},
		{Name: "proxies", About: "Eight proxies with a limiter each send 120 a second to one server for an hour; requests take exactly 100 ms", Proxies: 8, Build: proxies},
		{Name: "contention", About: "150 a second; each request inside makes the others 1 % slower", Build: func(seed uint64) model.Config {
			s := server()
			s.Contention = 0.01
			return model.Config{Seed: seed, Length: 10 * minute, Server: s, Clients: open(model.Constant(150))}
		}},
		{Name: "half the workers", About: "90 a second; five of ten workers are away for five minutes", Build: func(seed uint64) model.Config {
			s := server()
			s.Workers = model.Steps(model.Point{At: 0, Value: 10}, model.Point{At: 5 * minute, Value: 5}, model.Point{At: 10 * minute, Value: 10})
			return model.Config{
				Seed: seed, Length: 15 * minute, Server: s, Phases: []int64{0, 5 * minute, 10 * minute}, Clients: open(model.Constant(90)),
			}
		}},
	}
}

// proxies returns the configuration of a run with eight tenants, one for each gate.
func proxies(seed uint64) model.Config {
	s := server()
	s.CPU, s.Service = 1, model.Service{Shape: model.Exact, Mean: mean}
	c := model.Config{Seed: seed, Length: hour, Server: s, Tenants: 8}
	for tenant := range c.Tenants {
		c.Clients = append(c.Clients, model.Client{Tenant: tenant, Rate: model.Constant(15), Deadline: deadline})
	}
	return c
}
