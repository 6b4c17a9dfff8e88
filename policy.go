package headgate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/core"
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
	core    *core.Policy
	kind    string // "policy" or "semaphore", for errors
	delays  bool   // paces, and callers get a Decision whose Delay they could ignore: see errDelays
	// bound is the fast path for a single limit in memory. It is nil if requests must go through the store's Do. binding
	// and capacity are for its decisions.
	bound    engine.Bound
	binding  Binding
	capacity int64
}

// Policy returns a policy of this limiter with 1 to 32 limits. A request passes if every limit allows it. If there are
// several, the unnamed ones are named 1, 2, … by position. The name is 1 to 64 letters, digits, _, . and -. If the name
// or a limit is invalid, every method returns the error of [Policy.Err]; [Must] panics with it.
//
// The name is part of the name of the policy's counters: policies with different names count separately, and policies
// with the same name count together, limit by limit. Limits with different algorithms or names have separate counters. A
// second policy of the limiter with the same name must have the same limits, unless it is made by [Policy.With]. The
// limiter remembers the limits of 10 000 names. Users are counted separately by their keys, under one policy: a policy for
// each user costs more than a decision, because the store in memory divides its room among all names.
func (l *Limiter) Policy(name string, limits ...Limit) *Policy {
	l = l.orBroken()
	p := l.PolicyOf(name, rulesOf(name, limits)...)
	p.delays = p.core.Paces()
	l.names.add(p)
	return p
}

// PolicyOf returns a policy with limits of package engine, for servers, adapters and tests of stores. Its methods leave a
// pacer's delay to the caller. The name "" selects the namespace of limits without a policy.
func (l *Limiter) PolicyOf(name string, limits ...engine.Limit) *Policy {
	l = l.orBroken()
	return (&Policy{limiter: l, kind: "policy"}).on(l.core.Policy(name, limits...))
}

// on returns a copy of the policy that stands on other limits.
func (p *Policy) on(limits *core.Policy) *Policy {
	with := *p
	with.core = limits
	if with.bound = limits.Bound(); with.bound != nil {
		all := limits.Limits()
		with.capacity = all[0].Capacity()
		with.binding = Binding{Policy: limits.Name(), Name: all[0].Name(), Rate: Rate(all[0].Rate(0))}
	}
	return &with
}

// Core returns what the policy stands on: see [Limiter.Core].
func (p *Policy) Core() *core.Policy { return p.orBroken().core }

// With returns a policy with the same name and other limits, for a program that changes its limits, or that gives some
// keys other numbers. Counters follow the rules for changed limits: what was spent stays spent, limit by limit.
// [Limiter.Policy] takes a second policy with the same name and other limits for a mistake.
func (p *Policy) With(limits ...Limit) *Policy {
	p = p.orBroken()
	with := p.on(p.core.With(rulesOf(p.core.Name(), limits)...))
	with.delays = with.core.Paces()
	return with
}

// rulesOf returns the engine's limits for the limits of a policy.
func rulesOf(name string, limits []Limit) []engine.Limit {
	if name == "" {
		return []engine.Limit{engine.Invalid(engine.CheckPolicyName(name))}
	}
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
	if engine.IsNil(limit) {
		return engine.Invalid(missing("limit", "a limit such as TokenBucket"))
	}
	r := limit.rule()
	if r.Algorithm().Holds() {
		return engine.Invalid(&engine.InputError{Field: "limit", Value: "concurrency", Accepted: "any other limit; Limiter.Semaphore takes a Concurrency"})
	}
	return r
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

// Err returns an error if the policy's name, its term, a limit or an option of its limiter is invalid. It names the
// policy and matches [ErrInvalid]. Every other method that returns an error then returns the same one.
func (p *Policy) Err() error {
	p = p.orBroken()
	err := p.limiter.invalid
	if err == nil {
		err = p.core.Err()
	}
	return p.named(err)
}

// named makes an error of package core one of the policy: it has the policy's name if a limit or a request is invalid,
// and a denial is a [DeniedError].
func (p *Policy) named(err error) error {
	if err == nil {
		return nil
	}
	if denied, ok := errors.AsType[*core.DeniedError](err); ok {
		err = &DeniedError{Decision: p.decision(&denied.Answer)}
		if denied.Cause != nil {
			err = fmt.Errorf("%w: %w", err, denied.Cause)
		}
		return err
	}
	if p.core.Name() != "" && errors.Is(err, ErrInvalid) {
		return &policyError{p.kind, p.core.Name(), err}
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
func (p *Policy) Name() string { return p.orBroken().core.Name() }

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
	if p == nil || p.bound == nil || ctx == nil || p.limiter.core.Closed() {
		return false
	}
	a := p.bound.Allow(ctx, key, n)
	if !a.Decided {
		return false
	}
	if a.Allowed {
		d.Allowed, d.Granted = true, n
	}
	d.Limit, d.Remaining = p.capacity, a.Remaining
	d.RetryAfter, d.ResetAfter = engine.Micros(a.RetryAfter), engine.Micros(a.ResetAfter)
	d.Binding, d.At = p.binding, time.UnixMicro(a.AtMicros)
	if observed := p.limiter.observed; observed != nil {
		observed(ctx, Result{Verb: "allow", Policy: p.binding.Policy, Key: key, Units: n, Decision: *d})
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
	c := p.core.Ask(ctx, kind, key, units)
	defer c.Free()
	if err := c.Answer().Err; err != nil {
		return p.named(err)
	}
	p.read(d, c.Answer())
	return nil
}

// errDelays is the error of a verb that only a Decision would tell how long to wait. A program that ignores the delay
// would let everything pass at once. Policies of package core, for servers that pass the delay on, do not have it.
var errDelays error = &engine.InputError{
	Field: "limit", Value: "a pacer", Accepted: "any other limit for this verb; Wait, Reserve and ReserveAll take a pacer, and tell the caller how long to wait",
}

// decision returns the decision of an answer about the policy's limits, or the zero Decision after an error.
func (p *Policy) decision(a *engine.Answer) (d Decision) {
	if a.Err == nil {
		p.read(&d, a)
	}
	return d
}

// read fills in the decision of an answer about the policy's limits.
func (p *Policy) read(d *Decision, a *engine.Answer) {
	limits := p.core.Limits()
	d.read(a, func(i int) engine.Limit { return limits[i] })
	d.Binding.Policy = p.core.Name()
	for i := range d.Limits {
		d.Limits[i].Policy = p.core.Name()
	}
	if a.Choice != 0 {
		d.Paid = limits[a.Choice-1].Name()
	}
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
	c := p.core.Ask(ctx, engine.OpReset, key, 0)
	defer c.Free()
	return c.Answer().Found, p.named(c.Answer().Err)
}

// Wait charges the key one unit as soon as it passes, and then returns. See [Policy.WaitN].
func (p *Policy) Wait(ctx context.Context, key string) (Decision, error) { return p.WaitN(ctx, key, 1) }

// WaitN charges the key n units as soon as they pass, and then returns. It also returns when ctx ends.
//
// With token buckets and pacers, WaitN reserves the units and returns at the reserved slot, so no caller of any process
// overtakes another. The gaps between slots are measured by the store's clock, so calls can start a little later than
// their slots. With other limits WaitN holds nothing while it waits, so a caller in another process can overtake it.
// Within a process, callers of one key under the same limits pass in order of arrival. A pacer's MaxWait and MaxQueue
// do not bound the waiting callers: those that do not fit into its queue wait in the process.
//
// WaitN fails at once if the wait would end after the deadline of ctx: the error matches [ErrDenied] and
// [context.DeadlineExceeded]. It also fails with ErrDenied if n units can never pass. The error matches
// [ErrStoreUnavailable] if 100 000 callers of this process already wait for the key. It returns other errors as
// [Policy] does, without retrying. If the caller gives up, its units are given back within a second, as with
// [Reservation.Cancel]; if a call is in flight at that time, within a second after its answer.
//
// With 10 a second and burst 1, ten callers that arrive at once return after 0, 100, …, 900 ms.
func (p *Policy) WaitN(ctx context.Context, key string, n int64) (Decision, error) {
	p = p.orBroken()
	a := p.core.Wait(ctx, key, n)
	return p.decision(&a), p.named(a.Err)
}

// Outcome reports how an allowed request of the key ended, for an [AdaptiveRate]. Set
// failed if the service was overloaded or broken: after a timeout, or a status of 429 or 5xx. retryAfter is the
// Retry-After of the service's response, or 0. No request passes until that time is over; MaxPause caps the time.
//
// This process adds up the outcomes of a key and sends them to the store with the key's next request, if that comes
// within a minute. A retryAfter is sent in the background without waiting for this request, so that other processes on
// the store pause too. The process keeps the outcomes of at most 1024 keys, and drops the outcomes of any other key. No
// report is sent twice, even if one is lost. Policies without an adapting rate ignore outcomes. A denial is not an
// outcome.
func (p *Policy) Outcome(key string, failed bool, retryAfter time.Duration) {
	p.orBroken().core.Outcome(key, failed, retryAfter)
}
