package scenario

import "github.com/headgate/headgate/lab/simulator/model"

// sick returns scenarios with a slow dependency or a busy host.
func sick() []Scenario {
	return []Scenario{
		{Name: "slow dependency", About: "90 a second for an hour; a dependency takes three times as long for 50 minutes of it", Build: func(seed uint64) model.Config {
			s := server()
			s.CPU = 0.1
			s.Slowdown = model.Steps(model.Point{At: 0, Value: 1}, model.Point{At: 5 * minute, Value: 3}, model.Point{At: 55 * minute, Value: 1})
			return model.Config{
				Seed: seed, Length: hour, Server: s, Phases: []int64{0, 5 * minute, 55 * minute}, Clients: open(model.Constant(90)),
			}
		}},
		{Name: "stalled dependency", About: "The gate is at the client; for ten minutes every request times out, then 150 a second come", Build: stalled},
		{Name: "neighbour", About: "70 a second; for three minutes a neighbour takes 60 % of the host's CPUs, and nothing from the server", Build: func(seed uint64) model.Config {
			s := server()
			s.Neighbour = model.Steps(model.Point{At: 0, Value: 0}, model.Point{At: 3 * minute, Value: 0.6}, model.Point{At: 6 * minute, Value: 0})
			return model.Config{
				Seed: seed, Length: 9 * minute, Server: s, Phases: []int64{0, 3 * minute, 6 * minute}, Clients: open(model.Constant(70)),
			}
		}},
	}
}

// stalled returns the configuration of a run where a dependency responds only after the clients' deadline.
func stalled(seed uint64) model.Config {
	s := server()
	s.CPU, s.Drops = 0.1, true
	s.Slowdown = model.Steps(model.Point{At: 0, Value: 1}, model.Point{At: 5 * minute, Value: 60}, model.Point{At: 15 * minute, Value: 1})
	return model.Config{
		Seed: seed, Length: 20 * minute, Server: s, AtClient: true, Phases: []int64{0, 5 * minute, 15 * minute},
		Clients: open(model.Steps(model.Point{At: 0, Value: 90}, model.Point{At: 15 * minute, Value: 150})),
	}
}
