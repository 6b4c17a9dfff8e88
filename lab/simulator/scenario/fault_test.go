package scenario

import (
	"slices"
	"testing"
)

// runner runs gates in scenarios with one seed, and caches the rows.
type runner struct {
	t    *testing.T
	rows map[[2]string]*Row
}

func (r *runner) row(scenario, gate string) *Row {
	r.t.Helper()
	if row := r.rows[[2]string{scenario, gate}]; row != nil {
		return row
	}
	s, found := Named(scenario)
	g, known := s.gateNamed(gate)
	if !found || !known {
		r.t.Fatalf("no %q with %q", scenario, gate)
	}
	o := Options{Seeds: 1}
	if err := o.check(); err != nil {
		r.t.Fatal(err)
	}
	tallies, err := s.runs([]Gate{g}, &o)
	if err != nil {
		r.t.Fatal(err)
	}
	row := newRow(&g, tallies[0], nil)
	r.rows[[2]string{scenario, gate}] = row
	return row
}

// TestKnownFaults checks that each limiter shows its fault, and that a fixed limit does not show it in the same
// scenario. If the fault is the fixed limit's own, AIMD must not show it.
func TestKnownFaults(t *testing.T) {
	r := runner{t, map[[2]string]*Row{}}
	gates := map[string]bool{}
	for _, f := range Faults() {
		t.Run(f.Gate+": "+f.Name, func(t *testing.T) {
			r.t = t
			if figure, shown := f.Shown(r.row(f.Scenario, f.Gate)); !shown {
				t.Errorf("%s, %s: %.3f, want it from %v on", f.Scenario, f.Unit, figure, f.At)
			}
			other := "fixed 20"
			if f.Scenario == "large server" {
				other = "AIMD"
			}
			if figure, shown := f.Shown(r.row(f.Scenario, other)); shown {
				t.Errorf("%s shows it too: %.3f", other, figure)
			}
		})
		gates[f.Gate] = true
	}
	for _, g := range Gates() {
		if !gates[g.Name] {
			t.Errorf("%s has no fault", g.Name)
		}
	}
}

// TestFloodIsFair checks that a limit per tenant in addition to the pool's limit makes a flood harmless, but the
// pool's limit alone does not.
func TestFloodIsFair(t *testing.T) {
	r := runner{t, map[[2]string]*Row{}}
	pool, both := r.row("flood by a tenant", "bucket 95/s"), r.row("flood by a tenant", "bucket and tenants")
	if pool.Jain > 0.2 || both.Jain < 0.95 {
		t.Errorf("Jain's index %.3f with the pool alone, %.3f with tenants; want at most 0.2 and at least 0.95", pool.Jain, both.Jain)
	}
}

// gateNamed returns the scenario's gate with the given name. The second result reports whether it exists.
func (s *Scenario) gateNamed(name string) (Gate, bool) {
	all := s.gates()
	i := slices.IndexFunc(all, func(g Gate) bool { return g.Name == name })
	if i < 0 {
		return Gate{}, false
	}
	return all[i], true
}
