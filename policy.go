package headgate

import (
	"context"

	"github.com/headgate/headgate/engine"
)

// Policy is one or several limits under a name, bound to a limiter. It is the same
// thing as a policy in a server's file: limiters and servers that share a store share
// the counters of a policy's name. Many goroutines can use it at once.
//
// The errors of its verbs are those of [Limiter.Allow].
type Policy struct {
	limiter *Limiter
	name    string
	space   string
	limits  []Limit
}

// Policy returns a policy of the limiter's: a request passes if each of the limits,
// 1 to [engine.MaxCharges], lets it pass. Limits without a name are called 1, 2, … by
// their place where there are several. What is wrong with a name or a limit is the
// error of every verb.
//
// Counters are called by the policy's name, so that policies of different names count
// apart. One without a name counts as [Limiter.Allow] does.
func (l *Limiter) Policy(name string, limits ...Limit) *Policy {
	p := &Policy{limiter: l, name: name, space: l.adHoc(), limits: limits}
	if name != "" {
		p.space = engine.PolicySpace(name)
		if l.space != "" {
			p.space = l.space + ":" + p.space
		}
	}
	if len(limits) > 1 {
		p.limits = placed(limits)
	}
	if err := engine.CheckPolicyName(name); err != nil && name != "" {
		p.limits = []Limit{engine.Invalid(err)}
	}
	return p
}

// Name returns the policy's name.
func (p *Policy) Name() string { return p.name }

// Allow takes one unit of each of the policy's limits for the key, or none of any.
func (p *Policy) Allow(ctx context.Context, key string) (Decision, error) {
	return p.limiter.decide(ctx, engine.OpAllow, p.space, key, p.limits, 1)
}

// AllowN takes n units or none. Taking 0 is allowed and changes nothing.
func (p *Policy) AllowN(ctx context.Context, key string, n int64) (Decision, error) {
	return p.limiter.decide(ctx, engine.OpAllow, p.space, key, p.limits, n)
}

// AtMost takes as many units as pass now, up to n: [Decision.Granted] of them. None
// granted is a refusal, with the wait for one unit.
func (p *Policy) AtMost(ctx context.Context, key string, n int64) (Decision, error) {
	return p.limiter.decide(ctx, engine.OpAtMost, p.space, key, p.limits, n)
}

// Peek answers as AllowN would, and writes nothing.
func (p *Policy) Peek(ctx context.Context, key string, n int64) (Decision, error) {
	return p.limiter.decide(ctx, engine.OpPeek, p.space, key, p.limits, n)
}

// Give returns n units that were taken and not used. More than was spent cannot come
// back.
func (p *Policy) Give(ctx context.Context, key string, n int64) (Decision, error) {
	return p.limiter.decide(ctx, engine.OpGive, p.space, key, p.limits, n)
}

// Reset forgets what the key has spent. It reports whether there was anything.
func (p *Policy) Reset(ctx context.Context, key string) (found bool, err error) {
	c := calls.Get().(*call)
	defer c.free()
	r := p.limiter.ask(ctx, c, engine.OpReset, p.space, key, p.limits, 0, "")
	return r.Found, r.Err
}

// Request is a policy with the key and the units that it is asked for.
type Request struct {
	policy *Policy
	key    string
	units  int64
}

// For returns the request for n units of the key, for [Limiter.AllowAll] and
// [Limiter.AllowEach].
func (p *Policy) For(key string, n int64) Request { return Request{policy: p, key: key, units: n} }

// charges appends what the request charges through a limiter. One of another limiter's
// policy is refused: it may be kept in another store.
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

// AllowAll takes what every request asks for, or nothing at all: one unit for an
// address and one for a user, say. [Binding].Index counts the limits of the requests
// one after another. On a Redis Cluster, keys on several nodes are asked one after
// another ([engine.Split]).
func (l *Limiter) AllowAll(ctx context.Context, requests ...Request) (Decision, error) {
	var charges []engine.Charge
	for i := range requests {
		charges = requests[i].charges(l, charges)
	}
	results := l.Do(ctx, []engine.Op{{Kind: engine.OpAllow, Charges: charges}}, nil)
	return results[0].Decision, results[0].Err
}

// AllowEach decides each request on its own, in order, in one call: up to
// [engine.MaxOps].
func (l *Limiter) AllowEach(ctx context.Context, requests ...Request) []Result {
	ops := make([]engine.Op, len(requests))
	for i := range requests {
		ops[i] = engine.Op{Kind: engine.OpAllow, Charges: requests[i].charges(l, nil)}
	}
	return l.Do(ctx, ops, nil)
}
