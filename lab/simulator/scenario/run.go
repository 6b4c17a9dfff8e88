package scenario

import (
	"fmt"

	"github.com/headgate/headgate/lab/simulator/gate"
	"github.com/headgate/headgate/lab/simulator/model"
)

// Options configure a comparison.
type Options struct {
	// Seeds is the number of runs of each gate in each scenario, 1 to MaxSeeds.
	Seeds int
	// Limits are the fixed limits to try. The default is Coarse. If Refine is set, the search also tries limits between
	// the best limit and its neighbours.
	Limits []int64
	Refine bool
	// Each calls f for 0 to n−1, in any order and possibly concurrently. The order does not affect the results. If Each
	// is nil, f is called sequentially.
	Each func(n int, f func(i int))
}

// MaxSeeds is the maximum value of Options.Seeds.
const MaxSeeds = 1000

// Coarse lists the fixed limits that are tried by default.
var Coarse = []int64{5, 10, 14, 20, 40, 80, 160}

// Fine lists the limits for a full search, before refining.
var Fine = []int64{2, 4, 6, 8, 10, 12, 14, 17, 20, 24, 28, 34, 40, 57, 80, 113, 160, 320}

func (o *Options) check() error {
	if o.Seeds < 1 || o.Seeds > MaxSeeds {
		return fmt.Errorf("scenario: %d seeds, want 1 to %d", o.Seeds, MaxSeeds)
	}
	if o.Limits == nil {
		o.Limits = Coarse
	}
	if o.Each == nil {
		o.Each = func(n int, f func(int)) {
			for i := range n {
				f(i)
			}
		}
	}
	return nil
}

// once runs a gate with one seed.
func (s *Scenario) once(g *Gate, seed uint64) (*model.Tally, error) {
	c := s.Build(seed)
	made, err := s.gate(g, seed, c.Tenants)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Name, err)
	}
	t, err := model.Run(c, made)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.Name, g.Name, err)
	}
	return t, nil
}

// gate creates the gate for a run, or one gate per proxy.
func (s *Scenario) gate(g *Gate, seed uint64, tenants int) (model.Gate, error) {
	if s.Proxies < 2 {
		return g.New(seed, tenants)
	}
	gates := make([]model.Gate, s.Proxies)
	for i := range gates {
		made, err := g.New(seed*uint64(s.Proxies)+uint64(i), tenants)
		if err != nil {
			return nil, err
		}
		gates[i] = made
	}
	return gate.NewFleet(gates), nil
}

// runs simulates all gates and returns their tallies, indexed by gate and then by seed.
func (s *Scenario) runs(gates []Gate, o *Options) ([][]*model.Tally, error) {
	tallies, errs := make([]*model.Tally, len(gates)*o.Seeds), make([]error, len(gates)*o.Seeds)
	o.Each(len(tallies), func(i int) {
		tallies[i], errs[i] = s.once(&gates[i/o.Seeds], uint64(i%o.Seeds)+1)
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	byGate := make([][]*model.Tally, len(gates))
	for i := range gates {
		byGate[i] = tallies[i*o.Seeds : (i+1)*o.Seeds]
	}
	return byGate, nil
}

// Run compares all gates in the scenario with the best fixed limit.
func (s *Scenario) Run(o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	best, err := s.search(&o)
	if err != nil {
		return nil, err
	}
	gates := s.gates()
	tallies, err := s.runs(gates, &o)
	if err != nil {
		return nil, err
	}
	r := &Result{Name: s.Name, About: s.About, Phases: s.Build(1).Phases, Best: best}
	for i := range gates {
		r.Rows = append(r.Rows, newRow(&gates[i], tallies[i], best))
	}
	return r, nil
}
