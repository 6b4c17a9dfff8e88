package scenario

import (
	"slices"
	"strconv"
)

// Best is the fixed limit with the highest goodput among those tried. If two limits differ by less than 0.2 % of the
// calls, the one with the lower p99 wins.
type Best struct {
	Limit int64
	// Tried is the number of limits tried.
	Tried int
	Row   *Row
	// Phases are the best limits for each phase on its own, with their goodput.
	Phases []PhaseBest
}

// PhaseBest is the best fixed limit for one phase.
type PhaseBest struct {
	Limit   int64
	Goodput float64
}

// Rows whose goodput is within alike of the highest count as equal. Among them, the row with the lowest P99 wins.
const alike = 0.002

// search tries the fixed limits and returns the best one, for the whole run and for each phase.
func (s *Scenario) search(o *Options) (*Best, error) {
	rows, limits, err := s.tryFixed(o.Limits, o)
	if err != nil {
		return nil, err
	}
	if o.Refine {
		more := between(limits, limits[bestOf(rows)])
		moreRows, _, err := s.tryFixed(more, o)
		if err != nil {
			return nil, err
		}
		rows, limits = append(rows, moreRows...), append(slices.Clone(limits), more...)
	}
	at := bestOf(rows)
	best := &Best{Limit: limits[at], Tried: len(limits), Row: rows[at], Phases: make([]PhaseBest, len(rows[at].Phases))}
	for i, r := range rows {
		for p := range r.Phases {
			if r.Phases[p].Goodput > best.Phases[p].Goodput {
				best.Phases[p] = PhaseBest{Limit: limits[i], Goodput: r.Phases[p].Goodput}
			}
		}
	}
	for _, r := range rows {
		r.compare(best)
	}
	return best, nil
}

func (s *Scenario) tryFixed(limits []int64, o *Options) ([]*Row, []int64, error) {
	gates := make([]Gate, len(limits))
	for i, n := range limits {
		gates[i] = Gate{Name: "fixed " + strconv.FormatInt(n, 10), Ours: true, New: fixed(n)}
	}
	tallies, err := s.runs(gates, o)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]*Row, len(limits))
	for i := range limits {
		rows[i] = newRow(&gates[i], tallies[i], nil)
	}
	return rows, limits, nil
}

// bestOf returns the index of the row with the lowest P99 among the rows with nearly the highest goodput.
func bestOf(rows []*Row) (best int) {
	top := 0.0
	for _, r := range rows {
		top = max(top, r.Goodput)
	}
	best = -1
	for i, r := range rows {
		if r.Goodput >= top-alike && (best < 0 || r.P99 < rows[best].P99) {
			best = i
		}
	}
	return best
}

// between returns up to six more limits between a limit and its neighbours.
func between(limits []int64, middle int64) (more []int64) {
	low, high := int64(1), 2*middle
	for _, n := range limits {
		if n < middle {
			low = max(low, n)
		}
		if n > middle {
			high = min(high, n)
		}
	}
	for i := int64(1); i <= 6; i++ {
		n := low + (high-low)*i/7
		if n > low && !slices.Contains(limits, n) && !slices.Contains(more, n) {
			more = append(more, n)
		}
	}
	return more
}
