package core

import (
	"slices"
	"unique"

	"github.com/headgate/headgate/engine"
)

// Policy is a named set of limits on a limiter. It is immutable.
type Policy struct {
	limiter *Limiter
	name    string
	space   string
	limits  []engine.Limit
	// firstPays is set if only the first limit with enough units is charged, instead of all.
	firstPays bool
	listed    unique.Handle[limitList]
	paces     bool
	adapts    bool // some limit's rate adapts
	// bound is the fast path for a single limit in memory. It is nil if requests must go through the store's Do.
	bound engine.Bound
	term  *engine.Term // for reservations
}

// Policy returns a policy with the given limits. If the name is empty, its namespace is that of limits without a policy,
// as in servers.
func (l *Limiter) Policy(name string, limits ...engine.Limit) *Policy {
	p := &Policy{limiter: l, name: name, space: l.adHoc()}
	if name != "" {
		p.space = l.Space(engine.PolicySpace(name))
	}
	return p.With(limits...)
}

// With returns a copy of the policy with other limits. An invalid name stays an error.
func (p *Policy) With(limits ...engine.Limit) *Policy {
	with := *p
	with.limits = slices.Clone(limits)
	if len(limits) > 1 {
		for i, limit := range limits {
			with.limits[i] = limit.WithPosition(i + 1)
		}
	}
	if err := engine.CheckPolicyName(p.name); err != nil && p.name != "" {
		with.limits = []engine.Limit{engine.Invalid(err)}
	}
	with.bind()
	return &with
}

// First returns a copy of the policy that charges only the first of its limits that has enough units.
func (p *Policy) First() *Policy {
	first := *p
	first.firstPays = true
	first.bind()
	return &first
}

// WithTerm returns a copy of the policy with a term for its reservations.
func (p *Policy) WithTerm(term engine.Term) *Policy {
	termed := *p
	if termed.term = &term; p.limiter.invalid == nil && termed.Err() == nil {
		p.limiter.WatchTerms()
	}
	return &termed
}

// bind sets the fields that depend on the policy's limits.
func (p *Policy) bind() {
	p.listed, p.bound = p.list(), nil
	p.paces = slices.ContainsFunc(p.limits, func(l engine.Limit) bool { return l.Algorithm().Paces() })
	p.adapts = slices.ContainsFunc(p.limits, func(l engine.Limit) bool { return l.Algorithm().Adapts() })
	if store, ok := p.limiter.store.(engine.Binder); ok && len(p.limits) == 1 && !p.adapts && !p.firstPays && p.limiter.invalid == nil {
		p.bound = store.Bind(p.space, p.limits[0])
	}
	p.limiter.KeepRoom(p.space)
}

// Limiter returns the policy's limiter.
func (p *Policy) Limiter() *Limiter { return p.limiter }

// Name returns the policy's name.
func (p *Policy) Name() string { return p.name }

// Space returns the namespace of the policy's counters, as the store sees it.
func (p *Policy) Space() string { return p.space }

// Limits returns the policy's limits in order, with their names in the policy. The caller must not change them.
func (p *Policy) Limits() []engine.Limit { return p.limits }

// FirstPays reports whether only one of the limits is charged: see [Policy.First].
func (p *Policy) FirstPays() bool { return p.firstPays }

// Paces reports whether an allowed request can be delayed, because one of the limits is a pacer.
func (p *Policy) Paces() bool { return p.paces }

// Adapts reports whether any of the limits has an adaptive rate.
func (p *Policy) Adapts() bool { return p.adapts }

// Term returns the term of the policy's reservations, or nil.
func (p *Policy) Term() *engine.Term { return p.term }

// Err returns an error if the term or a limit is invalid.
func (p *Policy) Err() error {
	request := engine.Op{Kind: engine.OpPeek, Space: p.space, Key: "any", Charges: p.Charges(nil, 1)}
	if p.term != nil {
		request.Kind, request.ID, request.Term = engine.OpReserve, "any", p.term
	}
	return request.Check()
}

// Charges appends the charges of a request for the given units.
func (p *Policy) Charges(to []engine.Charge, units int64) []engine.Charge {
	for i, limit := range p.limits {
		c := engine.Charge{Limit: limit, Cost: units}
		if p.firstPays {
			c.Choice = uint8(i + 1) //nolint:gosec // there are at most 32
		}
		to = append(to, c)
	}
	return to
}

// Bound returns the fast path in memory of a policy with a single limit, or nil. Its user must know that the limiter is
// not closed, and calls the observer itself.
func (p *Policy) Bound() engine.Bound { return p.bound }
