package scenario

import "github.com/headgate/headgate/lab/simulator/model"

// steady returns scenarios where the server can keep up on average, so that a good limiter denies little.
func steady() []Scenario {
	return []Scenario{
		{Name: "steady", About: "90 requests a second at a server for 100, ten minutes", Build: func(seed uint64) model.Config {
			return model.Config{Seed: seed, Length: 10 * minute, Server: server(), Clients: open(model.Constant(90))}
		}},
		{Name: "low traffic", About: "5 requests a second for an hour", Build: func(seed uint64) model.Config {
			return model.Config{Seed: seed, Length: hour, Server: server(), Clients: open(model.Constant(5))}
		}},
		{Name: "bursts", About: "180 requests a second in every other second, ten minutes", Build: func(seed uint64) model.Config {
			rate := model.Alternating(180, 0, second, 2*second, 10*minute)
			return model.Config{Seed: seed, Length: 10 * minute, Server: server(), Clients: open(rate)}
		}},
		{Name: "pauses", About: "80 a second, and all workers stop for 300 ms in every 5 s", Build: func(seed uint64) model.Config {
			s := server()
			s.Pause = model.Pause{Every: 5 * second, For: 300_000}
			return model.Config{Seed: seed, Length: 10 * minute, Server: s, Clients: open(model.Constant(80))}
		}},
		{Name: "cheap and dear", About: "80 a second; one request in ten takes 20 times as long as the others", Build: func(seed uint64) model.Config {
			s := server()
			s.Service = model.Service{Shape: model.Bimodal, Mean: mean, Spread: 20, Share: 0.1}
			return model.Config{Seed: seed, Length: 10 * minute, Server: s, Clients: open(model.Constant(80))}
		}},
		{Name: "large server", About: "100 workers for 1000 a second, of which 800 come from the first second on", Build: func(seed uint64) model.Config {
			s := server()
			s.Workers = model.Constant(100)
			return model.Config{Seed: seed, Length: 2 * minute, Server: s, Clients: open(model.Constant(800))}
		}},
		{Name: "latency grows", About: "100 workers wait for a dependency, which grows from 100 ms to 300 ms within an hour; 90 a second always fit", Build: func(seed uint64) model.Config {
			s := server()
			s.Workers, s.CPU = model.Constant(100), 0.05
			s.Slowdown = model.Ramp(model.Point{At: 0, Value: 1}, model.Point{At: hour, Value: 3})
			return model.Config{Seed: seed, Length: hour, Server: s, Clients: open(model.Constant(90))}
		}},
	}
}
