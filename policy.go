package headgate

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unique"

	"github.com/headgate/headgate/engine"
)

// Policy is a named set of one or more limits, bound to a limiter. It is equivalent to a policy in a server's file.
// Limiters and servers on one store share the counters of policies with the same name. A Policy is safe for concurrent
// use.
//
// A denial is a [Decision], not an error. A method returns the context's error, or an error that matches [ErrInvalid]
// (the key, the cost or the policy is invalid), [ErrStoreUnavailable] (the decision is not known) or
// [ErrClosed].
type Policy struct {
	limiter *Limiter
	name    string
	space   string
	group
	listed unique.Handle[limitList]
	paces  bool
	adapts bool // some limit's rate adapts
	// bound is the fast path for a single limit in memory. It is nil if requests must go through the store's Do.
	bound   engine.Bound
	binding Binding      // for the decisions of a single limit
	term    *engine.Term // for reservations
}

// Policy returns a policy of this limiter with 1 to 32 limits. A request passes if every limit allows it. If there are
// several, the unnamed ones are named 1, 2, … by position. The name is 1 to 64 letters, digits, _, . and -. If the name
// or a limit is invalid, every method returns the error of [Policy.Err]; [Must] panics with it.
//
// The name is part of the name of the policy's counters: policies with different names count separately, and policies
// with the same name count together, limit by limit. Limits with different algorithms or names have separate counters.
func (l *Limiter) Policy(name string, limits ...Limit) *Policy {
	rules := make([]engine.Limit, len(limits))
	for i, limit := range limits {
		switch {
		case limit == nil:
		case limit.rule().Algorithm().Holds():
			rules[i] = engine.Invalid(&engine.InputError{Field: "limit", Value: "concurrency", Accepted: "any other limit; Limiter.Semaphore takes a Concurrency"})
		default:
			rules[i] = limit.rule()
		}
	}
	if name == "" {
		rules = []engine.Limit{engine.Invalid(engine.CheckPolicyName(name))}
	}
	return l.policy(name, rules...)
}

// policy returns a policy with engine limits. If the name is empty, the policy uses the namespace of ad-hoc limits, as
// in servers.
func (l *Limiter) policy(name string, limits ...engine.Limit) *Policy {
	p := &Policy{limiter: l, name: name, space: l.adHoc(), group: group{limits: slices.Clone(limits)}}
	if name != "" {
		p.space = l.inSpace(engine.PolicySpace(name))
	}
	if len(limits) > 1 {
		p.limits = placed(limits)
	}
	if err := engine.CheckPolicyName(name); err != nil && name != "" {
		p.limits = []engine.Limit{engine.Invalid(err)}
	}
	p.bind()
	return p
}

// Must returns the policy or semaphore, and panics if it is invalid. It is meant for package-level variables:
//
//	var api = headgate.Must(limiter.Policy("api", headgate.TokenBucket{Rate: headgate.PerSecond(100)}))
func Must[P interface{ Err() error }](p P) P {
	if err := p.Err(); err != nil {
		panic(err)
	}
	return p
}

// bind sets the fields that depend on the policy's limits.
func (p *Policy) bind() {
	l := p.limiter
	p.listed, p.bound = p.group.listed(), nil
	p.paces = slices.ContainsFunc(p.limits, func(l engine.Limit) bool { return l.Algorithm().Paces() })
	p.adapts = slices.ContainsFunc(p.limits, func(l engine.Limit) bool { return l.Algorithm().Adapts() })
	if store, ok := l.store.(engine.Binder); ok && len(p.limits) == 1 && !p.adapts && l.observer == nil && l.invalid == nil {
		p.bound = store.Bind(p.space, p.limits[0])
		p.binding = Binding{Policy: p.name, Name: p.limits[0].Name(), Rate: Rate(p.limits[0].Rate(0))}
	}
}

// Err returns an error if the policy's name, its term, a limit or an option of its limiter is invalid. It names the
// policy and matches [ErrInvalid]. Every other method that returns an error then returns the same one, without the
// policy's name. An invalid term affects only the methods that reserve.
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

// Allow charges the key one unit of each of the policy's limits, or nothing at all.
func (p *Policy) Allow(ctx context.Context, key string) (d Decision, err error) {
	if p.simple(ctx, &d, key, 1) {
		return d, nil
	}
	err = p.limiter.decide(ctx, &d, engine.OpAllow, p.name, p.space, key, p.group, 1)
	return d, err
}

// AllowN charges all n units or none. n must be 0 or more. A request for 0 units passes and changes nothing.
func (p *Policy) AllowN(ctx context.Context, key string, n int64) (d Decision, err error) {
	if p.simple(ctx, &d, key, n) {
		return d, nil
	}
	err = p.limiter.decide(ctx, &d, engine.OpAllow, p.name, p.space, key, p.group, n)
	return d, err
}

// simple decides a request on the fast path. It returns false and changes nothing if the request must go through the
// store's Do, which also returns the errors.
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
	d.RetryAfter, d.ResetAfter = engine.Micros(a.RetryAfter), engine.Micros(a.ResetAfter)
	d.Binding, d.At = p.binding, time.UnixMicro(a.AtMicros)
	return true
}

// AtMost charges as many units as can pass now, up to n, and returns their number in [Decision.Granted]. If no unit can
// pass, the request is denied, and RetryAfter is the wait for one unit.
func (p *Policy) AtMost(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpAtMost, p.name, p.space, key, p.group, n)
	return d, err
}

// Peek returns the decision that AllowN would make, but writes nothing. Granted is 0, and Remaining is the number of
// units before the charge.
func (p *Policy) Peek(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpPeek, p.name, p.space, key, p.group, n)
	return d, err
}

// Give returns n units that were charged but not used. It never returns more units than were spent.
func (p *Policy) Give(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.limiter.decide(ctx, &d, engine.OpGive, p.name, p.space, key, p.group, n)
	return d, err
}

// Reset clears the key's spent units, and reports whether there were any.
func (p *Policy) Reset(ctx context.Context, key string) (found bool, err error) {
	c := calls.Get().(*opBuffers)
	defer c.free()
	r := p.limiter.ask(ctx, c, engine.OpReset, p.space, key, p.group, 0, "")
	return r.Found, r.Err
}
