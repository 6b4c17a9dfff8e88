package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/headgate/headgate/lab/simulator/model"
)

// brief shortens a scenario to its first seconds.
func brief(s Scenario, seconds int64) Scenario {
	build := s.Build
	s.Build = func(seed uint64) model.Config {
		c := build(seed)
		c.Length = seconds * second
		c.Phases = slices.DeleteFunc(c.Phases, func(at int64) bool { return at >= c.Length })
		return c
	}
	return s
}

// TestScenariosRun checks that every scenario is valid with every gate, and that names and descriptions are unique.
func TestScenariosRun(t *testing.T) {
	names := map[string]bool{}
	for _, s := range All() {
		if names[s.Name] || s.About == "" {
			t.Errorf("%s: a name that is used twice, or no text", s.Name)
		}
		names[s.Name] = true
		short := brief(s, 3)
		for _, g := range s.gates() {
			if tally, err := short.once(&g, 1); err != nil || tally.Sum().Offered == 0 {
				t.Errorf("%s with %s: %v", s.Name, g.Name, err)
			}
		}
	}
	if _, ok := Named("no such"); ok {
		t.Error("a scenario without a name was found")
	}
}

// TestOrderOfRunsDoesNotMatter checks that results are the same if the runs happen in reverse order.
func TestOrderOfRunsDoesNotMatter(t *testing.T) {
	s, _ := Named("step")
	s = brief(s, 150)
	forward := Options{Seeds: 2, Limits: []int64{10, 20}}
	backward := forward
	backward.Each = func(n int, f func(int)) {
		for i := range n {
			f(n - 1 - i)
		}
	}
	a, err := s.Run(forward)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Run(backward)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b, cmpopts.IgnoreFields(Row{}, "Sample")); diff != "" {
		t.Error(diff)
	}
	for _, r := range a.Rows {
		if r.Gate == "fixed 20" && a.Best.Limit == 20 && (r.OfBest != 1 || r.WorstPhase > 1) {
			t.Errorf("the best fixed limit is %.3f of itself, worst phase %.3f", r.OfBest, r.WorstPhase)
		}
	}
}

// TestBestFixedLimit checks that the limit with more goodput wins, and that the lower p99 wins if the goodput is about
// the same.
func TestBestFixedLimit(t *testing.T) {
	rows := []*Row{{Goodput: 0.5, P99: 1}, {Goodput: 0.9, P99: 50}, {Goodput: 0.899, P99: 20}, {Goodput: 0.89, P99: 10}}
	if got := bestOf(rows); got != 2 {
		t.Errorf("row %d is the best, want 2", got)
	}
	best := &Best{Row: rows[1], Phases: []PhaseBest{{Goodput: 0.8}, {Goodput: 0.5}, {Goodput: 0.001}}}
	r := Row{Goodput: 0.45, Phases: []Phase{{Goodput: 0.4}, {Goodput: 0.4}, {}}}
	if r.compare(best); r.OfBest != 0.5 || r.WorstPhase != 0.5 {
		t.Errorf("%v of the best, worst phase %v; want 0.5 and 0.5: a hopeless phase does not count", r.OfBest, r.WorstPhase)
	}
}

// TestRefinedSearch checks that the search tries limits between the best limit and its neighbours, and tries no limit
// twice.
func TestRefinedSearch(t *testing.T) {
	for _, c := range []struct {
		limits []int64
		middle int64
		low    int64
		high   int64
	}{{[]int64{10, 20, 40}, 20, 10, 40}, {[]int64{10, 20, 40}, 40, 20, 80}, {[]int64{2, 3, 4}, 3, 2, 4}, {[]int64{1}, 1, 1, 2}} {
		more := between(c.limits, c.middle)
		for i, n := range more {
			if n <= c.low || n >= c.high || slices.Contains(c.limits, n) || slices.Contains(more[:i], n) {
				t.Errorf("around %d of %v: %v", c.middle, c.limits, more)
			}
		}
		if c.high-c.low > 7 && len(more) < 5 {
			t.Errorf("around %d of %v: only %v", c.middle, c.limits, more)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	s, _ := Named("steady")
	s = brief(s, 1)
	for _, o := range []Options{{}, {Seeds: MaxSeeds + 1}, {Seeds: 1, Limits: []int64{-3}}} {
		if _, err := s.Run(o); err == nil || !strings.Contains(err.Error(), "want") && !strings.Contains(err.Error(), "fixed -3") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
