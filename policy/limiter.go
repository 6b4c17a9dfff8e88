package policy

import (
	"cmp"
	"context"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/policy/route"
)

// Limiter decides requests by the policies and routes of a file. It is safe for use by
// many goroutines.
//
// It answers as a server with the same file does, with its failure modes and shadows, and
// shares the counters of servers and programs on the same store.
type Limiter struct {
	config   *Config
	limiter  *headgate.Limiter
	hashKeys *keyhash.File
}

// BindOption is an option of [Config.Bind].
type BindOption func(*Limiter)

// WithHashKeys counts keys under their hashes, as a server with the same --hash-keys-file does.
// Overrides see the key itself.
func WithHashKeys(secrets *keyhash.File) BindOption { return func(l *Limiter) { l.hashKeys = secrets } }

// Bind returns a limiter that decides by this file. The headgate.Limiter stays the
// caller's to close.
func (c *Config) Bind(limiter *headgate.Limiter, options ...BindOption) *Limiter {
	l := &Limiter{config: c, limiter: limiter}
	for _, option := range options {
		option(l)
	}
	return l
}

// counted returns what a key is counted under, and the key and its other names for overrides. An
// invalid key stays as it is, so that the store rejects it. The text of a hash as a client's key
// finds no override: those of that hash are of another key.
func (l *Limiter) counted(key string) (counted, named string, names []string) {
	secrets := l.hashKeys.Secrets()
	if secrets == nil || key == "" || len(key) > engine.MaxKeyBytes {
		return key, key, nil
	}
	for i := range secrets.Count() {
		names = append(names, string(secrets.Append(nil, i, key)))
	}
	if keyhash.Is(key) {
		return names[0], names[0], names
	}
	return names[0], key, names
}

// Allow charges the key what a request of the policy costs: one unit, unless the file
// says otherwise. A denial is a Decision, not an error. The errors are those of
// [headgate.Limiter.Allow]; an unknown policy is an [*headgate.InputError]. If the
// decision is not known and the policy's failure mode is allow, the request is allowed.
func (l *Limiter) Allow(ctx context.Context, policy, key string) (headgate.Decision, error) {
	p, err := l.policy(policy)
	if err != nil {
		return headgate.Decision{}, err
	}
	return l.decided(ctx, engine.OpAllow, p, key, p.Cost)
}

// AllowN charges the key n units of the policy, or none: n is 0 or more.
func (l *Limiter) AllowN(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, engine.OpAllow, policy, key, n)
}

// Peek answers as AllowN would, and writes nothing.
func (l *Limiter) Peek(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, engine.OpPeek, policy, key, n)
}

// Give returns n units that were charged and not used, to shadows too.
func (l *Limiter) Give(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, engine.OpGive, policy, key, n)
}

func (l *Limiter) one(ctx context.Context, kind engine.Kind, policy, key string, n int64) (headgate.Decision, error) {
	p, err := l.policy(policy)
	if err != nil {
		return headgate.Decision{}, err
	}
	return l.decided(ctx, kind, p, key, n)
}

func (l *Limiter) decided(ctx context.Context, kind engine.Kind, p *Policy, key string, n int64) (headgate.Decision, error) {
	counted, named, names := l.counted(key)
	return l.decide(ctx, kind, counted, p.Charges(nil, named, n, names...), p.Answers())
}

// Reset forgets what the key has spent of the policy and of its shadows, and reports
// whether it had spent anything.
func (l *Limiter) Reset(ctx context.Context, policy, key string) (found bool, err error) {
	p, err := l.policy(policy)
	if err != nil {
		return false, err
	}
	counted, named, names := l.counted(key)
	ops, _ := l.operations(engine.OpReset, counted, p.Charges(nil, named, 0, names...))
	for _, result := range l.limiter.Do(ctx, ops, nil) {
		found = found || result.Found
		err = cmp.Or(err, result.Err)
	}
	return found, err
}

// AllowRequest charges an HTTP request as its route says, on all policies of the route or
// on none. A request without a route is allowed, and its decision is Unlimited. The error
// of a request without a part of the key is an [*httplimit.NoKeyError], unless the route skips such
// requests.
func (l *Limiter) AllowRequest(r *http.Request) (headgate.Decision, error) {
	request, err := route.FromHTTP(r)
	if err != nil {
		return headgate.Decision{}, err
	}
	m, ok := l.config.Routes.Find(&request)
	if !ok {
		return headgate.Decision{Allowed: true, Unlimited: true}, nil
	}
	return l.AllowMatch(r.Context(), &m)
}

// AllowMatch charges a request whose route is known.
func (l *Limiter) AllowMatch(ctx context.Context, m *route.Match) (headgate.Decision, error) {
	if m.NoKey != nil {
		return headgate.Decision{}, m.NoKey
	}
	counted, charges, answers := l.charges(m)
	return l.decide(ctx, engine.OpAllow, counted, charges, answers)
}

// charges returns what a request whose route is known is counted under, and its charges.
func (l *Limiter) charges(m *route.Match) (counted string, charges []Charge, answers Answers) {
	counted, named, names := l.counted(m.Key)
	charges, answers = l.config.Policies.ForRoute(m, named, names...)
	return counted, charges, answers
}

// ForRoute returns the charges of a request, those of each of the route's policies with
// its overrides, and the strictest answers of its policies. A limit that
// is in several policies is charged once. Overrides are looked up by the key, which is that of the
// match where keys are not hashed, and by its other names: see [Policy.Charges].
func (s *Set) ForRoute(m *route.Match, key string, names ...string) (charges []Charge, answers Answers) {
	answers.Failure = Allow
	for _, name := range m.Route.Policies {
		p, ok := s.Get(name)
		if !ok {
			continue // the file was checked for this
		}
		cost := p.Cost
		if m.HasCost {
			cost = m.Cost
		}
		charges = p.Charges(charges, key, cost, names...)
		answers = Answers{Failure: min(answers.Failure, p.Failure), Replicas: answers.Replicas.Both(p.Replicas)}
	}
	return distinctCharges(charges), answers
}

func (l *Limiter) policy(name string) (*Policy, error) {
	p, ok := l.config.Policies.Get(name)
	if !ok {
		return nil, &headgate.InputError{Field: "policy", Value: format.Quote(name), Accepted: "the name of a policy in the file" + didYouMean(name, l.config.Policies.Names())}
	}
	return p, nil
}

// operations returns one operation for the limits that decide, all or nothing, and one for
// each shadow. names are the policies of the limits of the first; it is nil if all are
// shadows.
func (l *Limiter) operations(kind engine.Kind, key string, charges []Charge) (ops []engine.Op, names []string) {
	deciding, shadows := engine.Op{Kind: kind, Key: key}, []engine.Op(nil)
	for i := range charges {
		c := charges[i].Charge
		if c.Space == "" { // a policy that is not enabled counts nothing
			c.Space = engine.PolicySpace(charges[i].Policy)
		}
		c.Space = l.limiter.InSpace(c.Space)
		if charges[i].Shadow {
			shadows = append(shadows, engine.Op{Kind: kind, Key: key, Charges: []engine.Charge{c}, Shadow: true})
			continue
		}
		deciding.Charges = append(deciding.Charges, c)
		names = append(names, charges[i].Policy)
	}
	if names == nil {
		return shadows, nil
	}
	return append([]engine.Op{deciding}, shadows...), names
}

// decide decides the operations in one call of the store.
func (l *Limiter) decide(ctx context.Context, kind engine.Kind, key string, charges []Charge, answers Answers) (headgate.Decision, error) {
	ops, names := l.operations(kind, key, charges)
	d, _, err := l.run(ctx, ops, names, charges, answers)
	return d, err
}

// run also returns the results of the operations.
func (l *Limiter) run(ctx context.Context, ops []engine.Op, names []string, charges []Charge, answers Answers) (headgate.Decision, []headgate.Result, error) {
	kind := ops[0].Kind
	if names != nil {
		ops[0].Local, ops[0].Lenient, ops[0].Replicas = answers.Failure == Local, answers.Failure == Allow, answers.Replicas
	}
	results := l.limiter.Do(ctx, ops, nil)
	granted := int64(0)
	if kind == engine.OpAllow {
		granted = charges[0].Cost
	}
	d, err := answer(kind, results, names, granted)
	if instead, ok := answers.Failure.Answer(kind, granted, err); ok {
		return instead, results, nil
	}
	return d, results, err
}

// answer makes the decision from the results. The error of a shadow is never the request's
// (known bug 59), unless all limits are shadows and the request is a give, or a mistake of the
// program, such as a key that is too long or a closed limiter.
func answer(kind engine.Kind, results []headgate.Result, names []string, granted int64) (headgate.Decision, error) {
	if names == nil {
		for i := range results {
			if err := results[i].Err; err != nil && (!asks(kind) || !notKnown(err)) {
				return headgate.Decision{}, err
			}
		}
		return headgate.Decision{Allowed: true, Unlimited: true, Granted: granted, At: results[0].Decision.At}, nil
	}
	if results[0].Err != nil {
		return headgate.Decision{}, results[0].Err
	}
	d := results[0].Decision
	d.Binding.Policy = names[d.Binding.Index]
	return d, nil
}
