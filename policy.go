package headgate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	kind    string // "policy" or "semaphore", for errors
	name    string
	space   string
	group
	listed unique.Handle[limitList]
	paces  bool
	adapts bool // some limit's rate adapts
	delays bool // paces, and callers get a Decision whose Delay they could ignore: see errDelays
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
// with the same name count together, limit by limit. Limits with different algorithms or names have separate counters. A
// second policy of the limiter with the same name must have the same limits, unless it is made by [Policy.With]. The
// limiter remembers the limits of 10 000 names.
func (l *Limiter) Policy(name string, limits ...Limit) *Policy {
	l = l.orBroken()
	rules := rulesOf(limits)
	if name == "" {
		rules = []engine.Limit{engine.Invalid(engine.CheckPolicyName(name))}
	}
	p := l.policy(name, rules...)
	p.delays = p.paces
	l.names.add(p)
	return p
}

// With returns a policy with the same name and other limits, for a program that changes its limits, or that gives some
// keys other numbers. Counters follow the rules for changed limits: what was spent stays spent, limit by limit.
// [Limiter.Policy] takes a second policy with the same name and other limits for a mistake.
func (p *Policy) With(limits ...Limit) *Policy {
	with := p.orBroken().with(rulesOf(limits)...)
	with.delays = with.paces
	return with
}

// with returns a copy of the policy with other limits. An invalid name stays an error.
func (p *Policy) with(rules ...engine.Limit) *Policy {
	with := *p
	with.limits = rules
	if len(rules) > 1 {
		with.limits = placed(rules)
	}
	if err := engine.CheckPolicyName(p.name); err != nil {
		with.limits = []engine.Limit{engine.Invalid(err)}
	}
	with.bind()
	return &with
}

// rulesOf returns the engine's limits for the limits of a policy.
func rulesOf(limits []Limit) []engine.Limit {
	rules := make([]engine.Limit, len(limits))
	punishes := len(limits) > 0
	for i, limit := range limits {
		rules[i] = rule(limit)
		punishes = punishes && rules[i].Algorithm().Punishes()
	}
	if punishes {
		rules[0] = engine.Invalid(&engine.InputError{Field: "limit", Value: "a penalty alone", Accepted: "another limit beside it, whose denials it counts"})
	}
	return rules
}

// rule returns the engine's limit for one limit of a policy.
func rule(limit Limit) engine.Limit {
	if isNil(limit) {
		return engine.Invalid(missing("limit", "a limit such as TokenBucket"))
	}
	r := limit.rule()
	if r.Algorithm().Holds() {
		return engine.Invalid(&engine.InputError{Field: "limit", Value: "concurrency", Accepted: "any other limit; Limiter.Semaphore takes a Concurrency"})
	}
	return r
}

// policy returns a policy with engine limits. If the name is empty, the policy uses the namespace of ad-hoc limits, as
// in servers.
func (l *Limiter) policy(name string, limits ...engine.Limit) *Policy {
	l = l.orBroken()
	p := &Policy{limiter: l, kind: "policy", name: name, space: l.adHoc(), group: group{limits: slices.Clone(limits)}}
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
	if store, ok := l.store.(engine.Binder); ok && len(p.limits) == 1 && !p.adapts && l.observer == nil {
		p.bound = store.Bind(p.space, p.limits[0])
		p.binding = Binding{Policy: p.name, Name: p.limits[0].Name(), Rate: Rate(p.limits[0].Rate(0))}
	}
}

// Err returns an error if the policy's name, its term, a limit or an option of its limiter is invalid. It names the
// policy and matches [ErrInvalid]. Every other method that returns an error then returns the same one. An invalid term
// affects only the methods that reserve.
func (p *Policy) Err() error {
	p = p.orBroken()
	err := p.limiter.invalid
	if err == nil {
		request := engine.Op{Kind: engine.OpPeek, Space: p.space, Key: "any"}
		request.Charges = p.charges(nil, 1)
		if p.term != nil {
			request.Kind, request.ID, request.Term = engine.OpReserve, "any", p.term
		}
		err = request.Check()
	}
	return p.named(err)
}

// named adds the policy's name to the error of an invalid limit or request.
func (p *Policy) named(err error) error {
	if err != nil && p.name != "" && errors.Is(err, ErrInvalid) {
		return &policyError{p.kind, p.name, err}
	}
	return err
}

// policyError is the error of an invalid policy, or of an invalid request to it.
type policyError struct {
	kind, name string
	err        error
}

func (e *policyError) Error() string {
	return fmt.Sprintf("headgate: %s %q: %s", e.kind, e.name, strings.TrimPrefix(e.err.Error(), "headgate: "))
}

func (e *policyError) Unwrap() error { return e.err }

// Name returns the policy's name.
func (p *Policy) Name() string { return p.orBroken().name }

// Allow charges the key one unit of each of the policy's limits, or nothing at all. A policy with a [Pacer] or
// [FairPacer] returns an error from Allow, AllowN, AtMost and Charge: use Wait or Reserve, which tell the caller how long
// to wait.
func (p *Policy) Allow(ctx context.Context, key string) (d Decision, err error) {
	if p.simple(ctx, &d, key, 1) {
		return d, nil
	}
	err = p.decide(ctx, &d, engine.OpAllow, key, 1)
	return d, err
}

// AllowN charges all n units or none. n must be 0 or more. A request for 0 units passes and changes nothing.
func (p *Policy) AllowN(ctx context.Context, key string, n int64) (d Decision, err error) {
	if p.simple(ctx, &d, key, n) {
		return d, nil
	}
	err = p.decide(ctx, &d, engine.OpAllow, key, n)
	return d, err
}

// simple decides a request on the fast path. It returns false and changes nothing if the request must go through the
// store's Do, which also returns the errors.
func (p *Policy) simple(ctx context.Context, d *Decision, key string, n int64) bool {
	if p == nil || p.bound == nil || ctx == nil || p.limiter.closed.Load() {
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
	if observed := p.limiter.observed; observed != nil {
		observed(ctx, Result{Verb: "allow", Policy: p.name, Key: key, Units: n, Decision: *d})
	}
	return true
}

// decide runs an operation that charges each limit of one key the same number of units. It writes the decision to d,
// because copying it would take a tenth of the time of an in-memory decision. d must be zero, and stays zero on an
// error.
func (p *Policy) decide(ctx context.Context, d *Decision, kind engine.Kind, key string, units int64) error {
	p = p.orBroken()
	if p.delays && kind.Takes() {
		return p.named(errDelays)
	}
	if err := p.ask(ctx, d, kind, key, units); err != nil {
		return p.named(err)
	}
	return nil
}

// errDelays is the error of a verb that only a Decision would tell how long to wait. A program that ignores the delay
// would let everything pass at once. Policies of package core, for servers that pass the delay on, do not have it.
var errDelays error = &engine.InputError{
	Field: "limit", Value: "a pacer", Accepted: "any other limit for this verb; Wait, Reserve and ReserveAll take a pacer, and tell the caller how long to wait",
}

// ask is decide without the policy's name in the error.
func (p *Policy) ask(ctx context.Context, d *Decision, kind engine.Kind, key string, units int64) error {
	c := calls.Get().(*opBuffers)
	defer c.free()
	r := p.limiter.ask(ctx, c, kind, p.space, key, p.group, units, "")
	if r.Err != nil {
		return r.Err
	}
	d.readOp(&c.op[0], r)
	d.of(p.name)
	return nil
}

// AtMost charges as many units as can pass now, up to n, and returns their number in [Decision.Granted]. If no unit can
// pass, the request is denied, and RetryAfter is the wait for one unit.
func (p *Policy) AtMost(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.decide(ctx, &d, engine.OpAtMost, key, n)
	return d, err
}

// Peek returns the decision that AllowN would make, but writes nothing. Granted is 0, and Remaining is the number of
// units before the charge.
func (p *Policy) Peek(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.decide(ctx, &d, engine.OpPeek, key, n)
	return d, err
}

// Give returns n units that were charged but not used. It never returns more units than were spent.
func (p *Policy) Give(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = p.decide(ctx, &d, engine.OpGive, key, n)
	return d, err
}

// Reset clears the key's spent units, and reports whether there were any.
func (p *Policy) Reset(ctx context.Context, key string) (found bool, err error) {
	p = p.orBroken()
	c := calls.Get().(*opBuffers)
	defer c.free()
	r := p.limiter.ask(ctx, c, engine.OpReset, p.space, key, p.group, 0, "")
	return r.Found, p.named(r.Err)
}
