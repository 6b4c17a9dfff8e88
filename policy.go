package headgate

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unique"

	"github.com/headgate/headgate/engine"
)

// Policy is one or several limits under a name, bound to a limiter. It is the same thing as a policy in a server's
// file: limiters and servers on one store share a policy's counters by its name. It is safe for use by many
// goroutines.
//
// Its verbs return the errors of [Limiter.Allow].
type Policy struct {
	limiter *Limiter
	name    string
	space   string
	group
	listed unique.Handle[limitList]
	paces  bool
	// bound decides requests on a single limit in memory without an operation. It is nil if requests must go through
	// the store's Do.
	bound   engine.Bound
	binding Binding      // of a single limit's decisions
	term    *engine.Term // of reservations
}

// Policy returns a policy of this limiter with 1 to [engine.MaxCharges] limits. A request passes if every limit
// allows it. If there are several, the unnamed ones are named 1, 2, … by position. If the name or a limit is invalid,
// every verb returns that error.
//
// The policy's name is part of the name of its counters, so policies with different names count separately. A policy
// without a name shares its counters with [Limiter.Allow].
func (l *Limiter) Policy(name string, limits ...Limit) *Policy {
	p := &Policy{limiter: l, name: name, space: l.adHoc(), group: group{limits: slices.Clone(limits)}}
	if name != "" {
		p.space = l.InSpace(engine.PolicySpace(name))
	}
	if len(limits) > 1 {
		p.limits = placed(limits)
	}
	if err := engine.CheckPolicyName(name); err != nil && name != "" {
		p.limits = []Limit{engine.Invalid(err)}
	}
	p.bind()
	return p
}

// bind sets the fields that depend on the policy's limits.
func (p *Policy) bind() {
	l := p.limiter
	p.listed, p.bound = p.group.listed(), nil
	p.paces = slices.ContainsFunc(p.limits, func(l Limit) bool { return l.Algorithm().Paces() })
	if store, ok := l.store.(engine.Binder); ok && len(p.limits) == 1 && l.observer == nil && l.invalid == nil {
		p.bound = store.Bind(p.space, p.limits[0])
		p.binding = Binding{Policy: p.name, Name: p.limits[0].Name(), Rate: p.limits[0].Rate(0)}
	}
}

// Err returns the error that every verb of the policy returns because its name, a limit or an option of its limiter
// is invalid, or nil. The error names the policy and matches [ErrInvalid].
func (p *Policy) Err() error {
	err := p.limiter.invalid
	if err == nil {
		request := engine.Op{Kind: engine.OpPeek, Space: p.space, Key: "any"}
		request.Charges = p.charges(nil, 1)
		if p.term != nil {
			request.Kind, request.ID, request.Term = engine.OpReserve, "any", p.term
		}
		err = request.Check()
	}
	if err != nil {
		err = fmt.Errorf("policy %q: %w", p.name, err)
	}
	return err
}

// Name returns the policy's name.
func (p *Policy) Name() string { return p.name }

// Limits returns the policy's limits in order, with their names in the policy.
func (p *Policy) Limits() []Limit { return slices.Clone(p.limits) }

// Paces reports whether an allowed request can have a delay, because a limit is a pacer.
func (p *Policy) Paces() bool { return p.paces }

// Allow charges the key one unit of each of the policy's limits, or nothing at all.
func (p *Policy) Allow(ctx context.Context, key string) (d Decision, err error) {
	if p.simple(ctx, &d, key, 1) {
		return d, nil
	}
	err = p.limiter.decide(ctx, &d, engine.OpAllow, p.name, p.space, key, p.group, 1)
	return d, err
}

// AllowN charges n units or none, for n of 0 or more. A request of 0 units passes and changes nothing.
func (p *Policy) AllowN(ctx context.Context, key string, n int64) (d Decision, err error) {
	if p.simple(ctx, &d, key, n) {
		return d, nil
	}
	err = p.limiter.decide(ctx, &d, engine.OpAllow, p.name, p.space, key, p.group, n)
	return d, err
}

// simple decides a request on the policy's bound limit. It reports false, and has changed nothing, if the request
// must go through Do: because there is no bound limit, or to get its error.
func (p *Policy) simple(ctx context.Context, d *Decision, key string, n int64) bool {
	if p.bound == nil || p.limiter.closed.Load() {
		return false
	}
	a := p.bound.Allow(ctx, key, n)
	if !a.Decided {
		return false
	}
	if a.Allowed {
		d.Allowed, d.Granted = true, n
	}
	d.Limit, d.Remaining = p.limits[0].Capacity(), a.Remaining
	d.RetryAfter, d.ResetAfter = time.Duration(a.RetryAfter)*time.Microsecond, time.Duration(a.ResetAfter)*time.Microsecond
	d.Binding, d.At = p.binding, time.UnixMicro(a.AtMicros)
	return true
}

// AtMost charges as many units as pass now, up to n: [Decision.Granted] of them. If not
// even one passes, the request is denied, and RetryAfter is the wait for one unit.
func (p *Policy) AtMost(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpAtMost, p.name, p.space, key, p.group, n)
	return d, err
}

// Peek returns the decision that AllowN would make, and writes nothing.
func (p *Policy) Peek(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpPeek, p.name, p.space, key, p.group, n)
	return d, err
}

// Give returns n units that were charged and not used. It returns at most the units that were spent.
func (p *Policy) Give(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpGive, p.name, p.space, key, p.group, n)
	return d, err
}

// Reset clears the key's spent units, and reports whether there were any.
func (p *Policy) Reset(ctx context.Context, key string) (found bool, err error) {
	c := calls.Get().(*call)
	defer c.free()
	r := p.limiter.ask(ctx, c, engine.OpReset, p.space, key, p.group, 0, "")
	return r.Found, r.Err
}

// Request is a policy, a key and the units to charge. [Policy.For] returns it.
type Request struct {
	policy *Policy
	key    string
	units  int64
}

// For returns a request that charges the key n units of the policy, for [Limiter.AllowAll] and [Limiter.AllowEach].
func (p *Policy) For(key string, n int64) Request { return Request{policy: p, key: key, units: n} }

// charges appends the request's charges. A request for a policy of another limiter is an error, because its counters
// may be in another store.
func (r *Request) charges(l *Limiter, to []engine.Charge) []engine.Charge {
	if r.policy == nil || r.policy.limiter != l {
		refused := engine.Invalid(&InputError{Field: "request", Value: "of no policy of this limiter", Accepted: "what For of one of its policies returned"})
		return append(to, engine.Charge{Key: "refused", Limit: refused})
	}
	for _, limit := range r.policy.limits {
		to = append(to, engine.Charge{Space: r.policy.space, Key: r.key, Limit: limit, Cost: r.units})
	}
	return to
}

// AllowAll charges every request, or nothing at all: one unit for an address and one for a user, say. [Binding].Index
// counts the limits of all requests in order. On a Redis Cluster, keys on several nodes are decided one after another
// ([engine.Split]).
func (l *Limiter) AllowAll(ctx context.Context, requests ...Request) (Decision, error) {
	var charges []engine.Charge
	for i := range requests {
		charges = requests[i].charges(l, charges)
	}
	results := l.Do(ctx, []engine.Op{{Kind: engine.OpAllow, Charges: charges}}, nil)
	d := &results[0].Decision
	for at, i := 0, 0; i < len(requests) && results[0].Err == nil; i++ {
		if at += len(requests[i].policy.limits); d.Binding.Index < at {
			d.Binding.Policy = requests[i].policy.name
			break
		}
	}
	return *d, results[0].Err
}

// AllowEach decides each request separately, in order, in one call of up to [engine.MaxOps] requests. With more,
// every result has an error.
func (l *Limiter) AllowEach(ctx context.Context, requests ...Request) []Result {
	ops := make([]engine.Op, len(requests))
	for i := range requests {
		ops[i] = engine.Op{Kind: engine.OpAllow, Charges: requests[i].charges(l, nil)}
	}
	results := l.Do(ctx, ops, nil)
	for i := range results {
		if results[i].Err == nil {
			results[i].Decision.Binding.Policy = requests[i].policy.name
		}
	}
	return results
}
