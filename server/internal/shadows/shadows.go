// Package shadows counts how the shadow limits of policies would change answers: the requests that they would newly
// deny and newly allow.
package shadows

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/service"
)

// MaxPolicies is the maximum number of policies with a shadow that are compared. The first ones by name are chosen.
const MaxPolicies = 10_000

// shadowCounters holds the counters of one policy.
type shadowCounters struct {
	policy         string
	limits, shadow []string
	since          time.Time
	answers        [2][2]atomic.Uint64 // indexes: allowed now, allowed with the shadow in force
	unknown        atomic.Uint64
}

// text identifies the compared limits. When it changes, the counts restart.
func (r *shadowCounters) text() string {
	return strings.Join(r.limits, "\n") + "\n\n" + strings.Join(r.shadow, "\n")
}

// table holds the rows of the active policies. It is immutable except for the counts.
type table struct {
	rows   []*shadowCounters // sorted by name
	byName map[string]*shadowCounters
}

// Tracker compares answers. It is safe for concurrent use.
type Tracker struct {
	table atomic.Pointer[table]
	now   func() time.Time
}

// New returns a tracker without policies that uses the clock now.
func New(now func() time.Time) *Tracker {
	t := &Tracker{now: now}
	t.table.Store(&table{})
	return t
}

// SetPolicies gives each policy with a shadow its counters. A policy whose limits and shadow have not changed keeps
// its counters. Calls must not overlap.
func (t *Tracker) SetPolicies(set *policy.Set) {
	before, next := t.table.Load(), &table{byName: map[string]*shadowCounters{}}
	for _, name := range set.Names() {
		p, _ := set.Get(name)
		r := newRow(p, t.now())
		if r == nil || len(next.rows) == MaxPolicies {
			continue
		}
		if old := before.byName[name]; old != nil && old.text() == r.text() {
			r = old
		}
		next.rows, next.byName[name] = append(next.rows, r), r
	}
	t.table.Store(next)
}

// newRow returns the counters for a policy. It returns nil if the policy is disabled, or if it neither is a shadow nor
// has a candidate.
func newRow(p *policy.Policy, now time.Time) *shadowCounters {
	switch {
	case !p.Enabled:
		return nil
	case p.Shadow:
		return &shadowCounters{policy: p.Name, shadow: p.Limits(), since: now}
	case p.Candidate() != "":
		return &shadowCounters{policy: p.Name, limits: p.Limits(), shadow: []string{p.Candidate()}, since: now}
	default:
		return nil
	}
}

// Observe compares the answers from one call. It implements [service.Observer].
func (t *Tracker) Observe(o *service.Observed) {
	if len(o.Shadows) == 0 {
		return
	}
	rows := t.table.Load()
	for i := range o.Shadows {
		s := &o.Shadows[i]
		if !s.Kind.Takes() || !s.Last {
			continue
		}
		r := rows.byName[s.Of.Name]
		switch {
		case r == nil:
		case s.Compared:
			r.answers[index(s.Live)][index(s.InForce)].Add(1)
		default:
			r.unknown.Add(1)
		}
	}
}

func index(allowed bool) int {
	if allowed {
		return 1
	}
	return 0
}

// Compare returns the counts for each policy with a shadow, sorted by policy.
func (t *Tracker) Compare() []adminapi.Shadow {
	rows := t.table.Load().rows
	all := make([]adminapi.Shadow, len(rows))
	for i, r := range rows {
		all[i] = adminapi.Shadow{
			Policy: r.policy, Limits: append([]string{}, r.limits...), Shadow: r.shadow, Since: r.since,
			BothAllowed: r.answers[1][1].Load(), BothDenied: r.answers[0][0].Load(),
			NewlyDenied: r.answers[1][0].Load(), NewlyAllowed: r.answers[0][1].Load(), Unknown: r.unknown.Load(),
		}
	}
	return all
}
