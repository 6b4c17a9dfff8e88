package metrics

import (
	"cmp"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/service"
)

// Tally counts the answers to requests that take units, by outcome and mode. Errors have mode 0.
type Tally [outcomes.Count][outcomes.Modes]uint64

// Decisions calls f with the tally of each policy that has decided anything since the server started.
func (m *Metrics) Decisions(f func(policy string, t *Tally)) {
	for _, r := range m.table.Load().all() {
		r.read(f)
	}
}

func (r *policyCounters) read(f func(policy string, t *Tally)) {
	var t Tally
	any := uint64(0)
	for from := range r.decisions {
		for outcome := range t {
			for mode := range t[outcome] {
				n := r.decisions[from][outcome][mode].Load()
				t[outcome][mode] += n
				any |= n
			}
		}
	}
	if any != 0 {
		f(r.policy, &t)
	}
}

// Sum returns the number of answers with the given outcome, in all modes.
func (t *Tally) Sum(o outcomes.Outcome) (n uint64) {
	for mode := range t[o] {
		n += t[o][mode]
	}
	return n
}

// InMode returns the number of decisions made in a mode.
func (t *Tally) InMode(mode engine.Mode) uint64 {
	return t[outcomes.Allowed][mode] + t[outcomes.Denied][mode]
}

// Latency is a histogram of call durations. It maps the buckets' upper bounds, in seconds, to their counts. Each
// bound is at most 10 % above the previous one.
type Latency map[float64]uint64

// Latency returns the durations of clients' calls since the server started.
func (m *Metrics) Latency() Latency {
	l := Latency{}
	for from := range service.FrontEnds {
		if from != service.Admin {
			var d dto.Metric
			if m.took[from].Write(&d) == nil {
				l.add(d.GetHistogram())
			}
		}
	}
	return l
}

// add adds the counts in the buckets of a native histogram to l.
func (l Latency) add(h *dto.Histogram) {
	index, count, next := int32(0), int64(0), 0
	for i, span := range h.GetPositiveSpan() {
		if i == 0 {
			index = span.GetOffset()
		} else {
			index += span.GetOffset()
		}
		for range span.GetLength() {
			count += h.GetPositiveDelta()[next]
			next++
			l[math.Exp2(math.Ldexp(float64(index), -int(h.GetSchema())))] += uint64(max(count, 0))
			index++
		}
	}
}

// Quantiles returns the durations, in seconds, at the given quantiles of the calls since an earlier reading, and the
// number of these calls. ok is false if there were no calls.
func (l Latency) Quantiles(before Latency, shares ...float64) (times []float64, calls uint64, ok bool) {
	type bucket struct {
		bound float64
		n     uint64
	}
	var all []bucket
	for bound, n := range l {
		if n > before[bound] {
			all = append(all, bucket{bound, n - before[bound]})
			calls += n - before[bound]
		}
	}
	if calls == 0 {
		return nil, 0, false
	}
	slices.SortFunc(all, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	for _, share := range shares {
		rank, sum := uint64(math.Ceil(share*float64(calls))), uint64(0)
		for _, b := range all {
			if sum += b.n; sum >= rank {
				times = append(times, b.bound)
				break
			}
		}
	}
	return times, calls, true
}
