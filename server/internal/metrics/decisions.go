package metrics

import (
	"sync/atomic"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/service"
)

// maxPolicies is the maximum number of policies with their own counters. Further policies are counted as other.
const maxPolicies = 10_000

const verbCount = int(engine.Kinds)

type policyCounters struct {
	policy    string
	decisions [service.FrontEnds]outcomes.Table[atomic.Uint64]
	shadows   [outcomes.Count]atomic.Uint64
}

// table holds the rows of the active policies. It is immutable except for the counts.
type table struct {
	rows          []*policyCounters // by policy.Index; at most maxPolicies
	byName        map[string]*policyCounters
	inline, other *policyCounters
}

// newTable returns the rows of policies. It reuses the previous table's rows by name.
func newTable(set *policy.Set, before *table) *table {
	t := &table{byName: map[string]*policyCounters{}}
	if before == nil {
		t.inline, t.other = &policyCounters{policy: service.InlinePolicy}, &policyCounters{policy: service.OtherPolicy}
		before = t
	} else {
		t.inline, t.other = before.inline, before.other
	}
	for _, name := range set.Names() {
		if len(t.rows) == maxPolicies {
			break
		}
		r := before.byName[name]
		if r == nil {
			r = &policyCounters{policy: name}
		}
		t.rows, t.byName[name] = append(t.rows, r), r
	}
	return t
}

// row returns the counters of a policy. It compares the name, because the index of a replaced policy can now belong
// to another policy.
func (t *table) row(p *policy.Policy) *policyCounters {
	if i := p.Index(); i < len(t.rows) && t.rows[i].policy == p.Name {
		return t.rows[i]
	}
	if r := t.byName[p.Name]; r != nil {
		return r
	}
	return t.other
}

// tally combines consecutive increments of one counter, because most requests of a call increment the same counter.
type tally struct {
	counter *atomic.Uint64
	n       uint64
}

func (t *tally) add(counter *atomic.Uint64) {
	if counter == t.counter {
		t.n++
		return
	}
	t.flush()
	t.counter, t.n = counter, 1
}

func (t *tally) flush() {
	if t.n > 0 {
		t.counter.Add(t.n)
	}
}

// Observe counts one call. It implements [service.Observer].
func (m *Metrics) Observe(o *service.Observed) {
	t, from, sum := m.table.Load(), o.FrontEnd, tally{}
	for i := range o.Requests {
		r, answer := &o.Requests[i], &o.Responses[i]
		if !r.Kind.Takes() {
			sum.add(&m.verbs[from][r.Kind])
			continue
		}
		at := t.inline
		switch {
		case answer.Requested != nil:
			at = t.row(answer.Requested)
		case o.Policy(i) == service.OtherPolicy:
			at = t.other
		}
		sum.add(at.cell(from, &answer.Answer))
	}
	for i := range o.Shadows {
		if shadow := &o.Shadows[i]; shadow.Kind.Takes() {
			sum.add(&t.row(shadow.Owner).shadows[outcomes.Of(!shadow.Denied, shadow.Err)])
		}
	}
	sum.flush()
	m.took[from].Observe(o.Took.Seconds())
	m.sizes[from].Observe(float64(len(o.Requests)))
}

func (r *policyCounters) cell(from service.FrontEnd, a *engine.Answer) *atomic.Uint64 {
	return r.decisions[from].At(a.Allowed, a.Promise.Mode, a.Err)
}

// decisions are the metrics of the current table. Zero counts are omitted.
var decisions = metric.NewTable(
	metric.Row[*Metrics]{
		Name: "headgate_decisions_total", Labels: []string{"policy", "outcome", "mode", "frontend"},
		Help: "Decided requests that take units. The mode is empty where there is no decision: outcome unknown and invalid.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for _, r := range m.table.Load().all() {
				for f := range r.decisions {
					r.decisions[f].Each(func(outcome, mode string, count *atomic.Uint64) {
						if n := count.Load(); n > 0 {
							add(float64(n), r.policy, outcome, mode, service.FrontEnd(f).String())
						}
					})
				}
			}
		},
	},
	metric.Row[*Metrics]{
		Name: "headgate_shadow_decisions_total", Labels: []string{"policy", "outcome"},
		Help: "Decisions of shadow limits and candidates; denied counts the requests that they would have denied.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for _, r := range m.table.Load().all() {
				for o := range r.shadows {
					if n := r.shadows[o].Load(); n > 0 {
						add(float64(n), r.policy, outcomes.Outcome(o).String())
					}
				}
			}
		},
	},
	metric.Row[*Metrics]{
		Name: "headgate_other_requests_total", Labels: []string{"verb", "frontend"},
		Help: "Requests that take no units, by verb.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for f := range service.FrontEnds {
				for verb := range m.verbs[f] {
					if n := m.verbs[f][verb].Load(); n > 0 {
						add(float64(n), engine.Kind(verb).String(), f.String())
					}
				}
			}
		},
	},
)

// all returns the rows of all policies.
func (t *table) all() []*policyCounters {
	return append([]*policyCounters{t.inline, t.other}, t.rows...)
}
