package scenario

import "github.com/headgate/headgate/lab/simulator/model"

// Result holds the results of all gates in one scenario.
type Result struct {
	Name, About string
	// Phases are the start times of the phases, in µs.
	Phases []int64
	Best   *Best
	Rows   []*Row
}

// Row holds the figures of one gate in one scenario, as means over the seeds.
type Row struct {
	Gate, About string
	Ours        bool
	// Goodput is the share of calls with an attempt that succeeded in time. Least is the lowest goodput for any seed.
	Goodput, Least float64
	// OfBest is the goodput divided by the best fixed limit's goodput. WorstPhase is the lowest such ratio in any
	// phase, where each phase is compared with its own best limit. Both fields are 0 before the comparison.
	OfBest, WorstPhase float64
	// Denied is the number of denied attempts per call. Wrong is the number of attempts denied while a worker was
	// idle, per call.
	Denied, Wrong float64
	// P50 and P99 are latencies of admitted attempts in µs.
	P50, P99 int64
	// Early and Late are the mean limits in the second and in the last twentieth of the run. Variation is the limit's
	// coefficient of variation in the second half.
	Early, Late, Variation float64
	// Jain is the fairness index over the tenants, or 0 if there is only one.
	Jain   float64
	Phases []Phase
	// Sample is the run with the first seed, used for drawings.
	Sample *model.Tally
}

// Phase holds a gate's figures for one phase of a scenario, as means over the seeds.
type Phase struct {
	Goodput, Denied float64
	// Limit is the mean limit in the last fifth of the phase.
	Limit float64
}

// newRow returns a gate's figures, averaged over its runs. Without best, the figures are not compared.
func newRow(g *Gate, tallies []*model.Tally, best *Best) *Row {
	r := &Row{Gate: g.Name, About: g.About, Ours: g.Ours, Least: 1, Sample: tallies[0], Phases: make([]Phase, len(tallies[0].Phases))}
	latency, n := &model.Histogram{}, float64(len(tallies))
	for _, t := range tallies {
		sum := t.Sum()
		calls := float64(max(sum.Offered, 1))
		good := float64(sum.Good) / calls
		r.Goodput += good / n
		r.Least = min(r.Least, good)
		r.Denied += float64(sum.Denied) / calls / n
		r.Wrong += float64(sum.Wrong) / calls / n
		latency.Merge(t.Latency)
		r.addLimits(t, n)
		if len(t.Tenants) > 1 {
			r.Jain += t.Jain() / n
		}
	}
	r.P50, r.P99 = latency.Quantile(0.5), latency.Quantile(0.99)
	if best != nil {
		r.compare(best)
	}
	return r
}

// addLimits adds a run's share of the averages over n runs: the figures about its limit, and those for each phase.
func (r *Row) addLimits(t *model.Tally, n float64) {
	early, _ := t.LimitBetween(0.05, 0.1)
	late, _ := t.LimitBetween(0.95, 1)
	_, variation := t.LimitBetween(0.5, 1)
	r.Early, r.Late, r.Variation = r.Early+early/n, r.Late+late/n, r.Variation+variation/n
	for i, p := range t.Phases {
		calls := float64(max(p.Offered, 1))
		r.Phases[i].Goodput += float64(p.Good) / calls / n
		r.Phases[i].Denied += float64(p.Denied) / calls / n
		from, to := t.PhaseSpan(i)
		limit, _ := t.LimitBetween(to-(to-from)/5, to)
		r.Phases[i].Limit += limit / n
	}
}

// hopeless is the goodput below which a phase is not compared, because no limit helps.
const hopeless = 0.01

// compare sets the ratios between the row's goodput and the goodput of the best fixed limits.
func (r *Row) compare(best *Best) {
	if best.Row.Goodput > 0 {
		r.OfBest = r.Goodput / best.Row.Goodput
	}
	first := true
	for i, b := range best.Phases {
		if b.Goodput < hopeless {
			continue
		}
		ratio := r.Phases[i].Goodput / b.Goodput
		if first || ratio < r.WorstPhase {
			r.WorstPhase, first = ratio, false
		}
	}
}
