package scenario

import "github.com/headgate/headgate/lab/simulator/model"

// clients returns scenarios that differ in how clients behave.
func clients() []Scenario {
	return []Scenario{
		{Name: "retry storm", About: "80 a second that retry three times at once; a dependency is slow for 30 s", Build: func(seed uint64) model.Config {
			return storm(seed, model.Retry{Max: 3})
		}},
		{Name: "patient retries", About: "The same with pauses from 200 ms on, doubled, with jitter, never shorter than Retry-After", Build: func(seed uint64) model.Config {
			return storm(seed, model.Retry{Max: 3, Base: 200_000, Jitter: true, Obeys: true})
		}},
		{Name: "closed loop", About: "60 users who think for 300 ms between requests", Build: func(seed uint64) model.Config {
			return model.Config{
				Seed: seed, Length: 10 * minute, Server: server(),
				Clients: []model.Client{{Users: 60, Think: 300_000, Deadline: deadline, Retry: model.Retry{Max: 3, Base: 100_000, Jitter: true}}},
			}
		}},
		{
			Name: "flood by a tenant", About: "One tenant sends 500 a second, five send 15 and ten send 1", Build: flood,
			Extra: []Gate{{
				Name: "bucket and tenants", About: "Headgate's token bucket of 95/s with one of 20/s for each tenant, in one step", Ours: true,
				New: bucket("95/s burst 20", "20/s burst 20"),
			}},
		},
	}
}

func storm(seed uint64, retry model.Retry) model.Config {
	s := server()
	s.Slowdown = model.Steps(model.Point{At: 0, Value: 1}, model.Point{At: 2 * minute, Value: 5}, model.Point{At: 2*minute + 30*second, Value: 1})
	return model.Config{
		Seed: seed, Length: 10 * minute, Server: s, Phases: []int64{0, 2 * minute, 2*minute + 30*second},
		Clients: []model.Client{{Rate: model.Constant(80), Deadline: deadline, Retry: retry}},
	}
}

func flood(seed uint64) model.Config {
	c := model.Config{Seed: seed, Length: 10 * minute, Server: server(), Tenants: 16}
	for tenant := range c.Tenants {
		rate := 1.0
		switch {
		case tenant == 0:
			rate = 500
		case tenant <= 5:
			rate = 15
		}
		c.Clients = append(c.Clients, model.Client{Tenant: tenant, Rate: model.Constant(rate), Deadline: deadline})
	}
	return c
}
