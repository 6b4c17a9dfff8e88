package scenario

import (
	"testing"

	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/simulator/gate"
	"github.com/headgate/headgate/lab/simulator/model"
)

// TestHeadgate compares package adaptive, and the fixed limit that it suggests, with the best fixed limit found in each
// situation. Where the package misses the general target, the test expects the figure in docs/adaptive.md.
func TestHeadgate(t *testing.T) {
	asked := func(name string) (goodput, latency float64) {
		switch name {
		case "contention": // more calls would complete with fewer in flight, but the controller does not search for that
			return 0.85, 3
		case "proxies": // each of the eight processes has its own limit
			return 0.97, 3
		default:
			return 0.97, 2
		}
	}
	names := []string{"steady", "bursts", "large server", "step", "proxies", "contention", "half the workers", "slow dependency", "flood by a tenant"}
	for _, name := range names[:raced.Size(len(names), 2)] {
		s, ok := Named(name)
		g, known := s.gateNamed("Headgate")
		if !ok || !known {
			t.Fatal(name)
		}
		o := Options{Seeds: 1}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		best, err := s.search(&o)
		if err != nil {
			t.Fatal(err)
		}
		var gates []gate.Headgate // one for each run or, with proxies, for each proxy
		newGate := g.New
		g.New = func(seed uint64, tenants int) (model.Gate, error) {
			made, err := newGate(seed, tenants)
			if h, ok := made.(gate.Headgate); ok {
				gates = append(gates, h)
			}
			return made, err
		}
		tallies, err := s.runs([]Gate{g}, &o)
		if err != nil {
			t.Fatal(err)
		}
		row := newRow(&g, tallies[0], best)
		suggested := int64(0)
		for _, h := range gates {
			suggested += h.Suggest()
		}
		suggested /= int64(len(gates))
		fixed, _, err := s.tryFixed([]int64{suggested}, &o)
		if err != nil {
			t.Fatalf("%s: fixed limit of %d: %v", name, suggested, err)
		}
		goodput, latency := asked(name)
		t.Logf("%s: goodput %.2f and in its worst phase %.2f of the best, p99 %.2f times", name, row.OfBest, row.WorstPhase, float64(row.P99)/float64(best.Row.P99))
		if row.OfBest < goodput || float64(row.P99) > latency*float64(best.Row.P99) {
			t.Errorf("%s: goodput %.3f of the best, p99 %d µs beside %d", name, row.OfBest, row.P99, best.Row.P99)
		}
		if of := fixed[0].Goodput / best.Row.Goodput; of < goodput {
			t.Errorf("%s: goodput %.3f of the best with the suggested limit of %d", name, of, suggested)
		}
	}
}

// TestHeadgateDoesNotDrift checks that the limit does not drift during an hour of mild overload.
func TestHeadgateDoesNotDrift(t *testing.T) {
	r := runner{t, map[[2]string]*Row{}}
	if g := growth(r.row("modest overload", "Headgate")); g < 0.8 || g > 1.25 {
		t.Errorf("the limit at the end is %.2f times that of the start", g)
	}
}
