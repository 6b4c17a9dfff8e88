package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/policies"
)

const (
	// explainTimeout bounds the calls of the store for one explanation.
	explainTimeout = 2 * time.Second
	// maxExplained is how many policies an explanation without a policy looks at.
	maxExplained = 1000
)

// explanation says how a key stands under a policy.
type explanation struct {
	Policy string `json:"policy"`
	// Combined is true if the policy is written with all: an override of its keys is deny or
	// unlimited.
	Combined bool `json:"combined,omitempty"`
	keyFields

	// Counted is the hash that the key is counted under; absent if keys are not hashed.
	Counted string `json:"counted_as,omitempty"`
	// OldSecret is true for the hash of the second secret: no request is decided by it.
	OldSecret bool `json:"old_secret,omitempty"`
	// OverrideUnknown is true if only a hash is known, and an override of the key itself
	// or of a pattern may apply.
	OverrideUnknown bool `json:"override_unknown,omitempty"`

	Cost int64 `json:"cost"`
	// Allowed is the answer that a take of the cost would get now.
	Allowed bool `json:"allowed"`
	// FreesAt is when it is allowed again, if no other request comes; absent if it is
	// allowed, or never will be.
	FreesAt *time.Time `json:"frees_at,omitempty"`
	// Never is true if the cost is more than the limit lets through at all.
	Never bool `json:"never,omitempty"`
	// Generation is that of the policies that this was decided by.
	Generation uint64          `json:"generation"`
	Limits     []limitStanding `json:"limits"`
}

// limitStanding is how a key stands under one limit.
type limitStanding struct {
	// Policy is the policy that has the limit: another one if the policy names it in all.
	Policy string `json:"policy"`
	// Combined is true if that policy is written with all.
	Combined bool `json:"combined,omitempty"`
	// Target is what an override of the limit names, such as free/minute; absent if it is the policy.
	Target string `json:"target,omitempty"`
	Limit  string `json:"limit"`
	// Rule is the override that the limit is of; absent if it is the policy's own.
	Rule string `json:"rule,omitempty"`
	// From is where the rule stands: file or change. Change is that change.
	From   string           `json:"from"`
	Change *policies.Change `json:"change,omitempty"`
	Shadow bool             `json:"shadow"`
	// Decides is true for the limit that the answer depends on.
	Decides bool `json:"decides"`
	Allowed bool `json:"allowed"`
	// Capacity and Remaining are units; absent if nothing limits.
	Capacity  *int64 `json:"capacity,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
	// RetryAfter and ResetAfter are in ms, rounded up. RetryAfter is absent if the cost
	// passes, or never will.
	RetryAfter *int64     `json:"retry_after_ms,omitempty"`
	ResetAfter int64      `json:"reset_after_ms"`
	FreesAt    *time.Time `json:"frees_at,omitempty"`
	// State is true if the store has something of the key: without that the limit is
	// untouched.
	State bool   `json:"state"`
	Mode  string `json:"mode,omitempty"`
	// Error says why the standing is not known.
	Error string `json:"error,omitempty"`
}

func (a *api) explain(w http.ResponseWriter, r *http.Request) (any, error) {
	var body struct {
		keyFields

		Policy string `json:"policy"`
		Cost   *int64 `json:"cost"`
	}
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	key, err := body.Read()
	if err != nil {
		return nil, err
	}
	counted := a.counted(key)
	if body.Cost != nil && *body.Cost < 0 {
		return nil, badField("cost", "negative; accepted: 0 or more")
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	f := a.inForce()
	answer := struct {
		Explanations []explanation `json:"explanations"`
		// OverrideUnknown is true if that of any policy is.
		OverrideUnknown bool `json:"override_unknown,omitempty"`
	}{Explanations: []explanation{}}
	if body.Policy != "" {
		p, ok := f.current.Policies.Get(body.Policy)
		if !ok {
			return nil, noPolicy(body.Policy)
		}
		answer.Explanations = append(answer.Explanations, a.explainKey(ctx, &f, p, &counted, 0, body.Cost))
		answer.Explanations = append(answer.Explanations, a.explainOld(ctx, &f, p, &counted, body.Cost)...)
		answer.OverrideUnknown = answer.Explanations[0].OverrideUnknown
		return answer, nil
	}
	for i, name := range f.current.Policies.Names() {
		if i == maxExplained {
			break
		}
		p, _ := f.current.Policies.Get(name)
		e := a.explainKey(ctx, &f, p, &counted, 0, body.Cost)
		if answer.OverrideUnknown = answer.OverrideUnknown || e.OverrideUnknown; e.interesting() {
			answer.Explanations = append(answer.Explanations, e)
		}
		answer.Explanations = append(answer.Explanations, a.explainOld(ctx, &f, p, &counted, body.Cost)...)
	}
	return answer, nil
}

// explainOld explains what was counted under the second secret, if anything was.
func (a *api) explainOld(ctx context.Context, f *inForce, p *policy.Policy, key *countedKey, cost *int64) (all []explanation) {
	for secret := 1; secret < len(key.counted); secret++ {
		e := a.explainKey(ctx, f, p, key, secret, cost)
		if slices.ContainsFunc(e.Limits, func(l limitStanding) bool { return l.State }) {
			all = append(all, e)
		}
	}
	return all
}

// interesting reports whether the store has something of the key or cannot say, or whether
// the key has an override.
func (e *explanation) interesting() bool {
	for i := range e.Limits {
		if l := &e.Limits[i]; l.State || l.Rule != "" || l.Error != "" || !l.Allowed {
			return true
		}
	}
	return false
}

// explainKey peeks at all limits of a key: those that decide together, as a take would be
// decided, and each on its own.
func (a *api) explainKey(ctx context.Context, f *inForce, p *policy.Policy, of *countedKey, secret int, cost *int64) explanation {
	key := of.counted[secret]
	e := explanation{
		Policy: p.Name, Combined: p.Combined(), keyFields: newKey(of.key), Cost: p.Cost, Allowed: true, Generation: a.Service.Generation(),
		OldSecret: secret > 0, OverrideUnknown: !of.known() && p.HasOverrides(),
	}
	if of.hashed {
		e.Counted = key
	}
	if cost != nil {
		e.Cost = *cost
	}
	charges := p.Charges(nil, of.key, e.Cost, of.names()...)
	var together []engine.Charge
	var deciding []int
	ops := []engine.Op{{}}
	for i := range charges {
		c := &charges[i]
		one := []engine.Charge{c.Charge}
		space := p.Space()
		ops = append(ops,
			engine.Op{Kind: engine.OpPeek, Space: space, Key: key, Charges: one},
			engine.Op{Kind: engine.OpExpiry, Space: space, Key: key, Charges: one})
		if !c.Shadow {
			together, deciding = append(together, c.Charge), append(deciding, i)
		}
		e.Limits = append(e.Limits, f.rule(c, of))
	}
	if ops[0] = (engine.Op{Kind: engine.OpPeek, Space: p.Space(), Key: key, Charges: together}); len(together) == 0 {
		ops = ops[1:]
	}
	results := make([]headgate.Result, len(ops))
	a.Decide(ctx, ops, results)
	if len(together) > 0 {
		e.decide(&results[0], deciding)
		results = results[1:]
	}
	for i := range e.Limits {
		e.Limits[i].stand(&results[2*i], &results[2*i+1])
	}
	return e
}

// rule says where the limit of a charge comes from.
func (f *inForce) rule(c *policy.Charge, key *countedKey) limitStanding {
	l := limitStanding{Policy: c.Policy, Combined: c.Owner.Combined(), Limit: c.Limit.String(), From: "file", Shadow: c.Shadow}
	if c.Target != c.Policy {
		l.Target = c.Target
	}
	l.Rule, _ = c.Rule(key.key, key.names()...)
	if l.Change = f.changes[changeName{c.Target, l.Rule}]; l.Change != nil {
		l.From = "change"
	}
	return l
}

// decide sets the answer, and which limit it depends on.
func (e *explanation) decide(r *headgate.Result, deciding []int) {
	d := &r.Decision
	if r.Err != nil {
		e.Allowed = false
		return // each limit has its error
	}
	e.Allowed = d.Allowed
	e.Limits[deciding[d.Binding.Index]].Decides = true
	e.Never = d.RetryAfter == headgate.Never
	e.FreesAt = freesAt(d)
}

// freesAt returns when a denied request passes, by the time of the store and rounded up to
// ms; nil if it passes now, or never will.
func freesAt(d *headgate.Decision) *time.Time {
	if d.Allowed || d.RetryAfter == headgate.Never {
		return nil
	}
	at := d.At.Add(d.RetryAfter + time.Millisecond - time.Microsecond).UTC().Truncate(time.Millisecond)
	return &at
}

// stand sets the standing from the results of a peek and an expiry.
func (l *limitStanding) stand(peek, expiry *headgate.Result) {
	if peek.Err != nil {
		l.Error = peek.Err.Error()
		return
	}
	d := &peek.Decision
	l.Allowed, l.State, l.Mode = d.Allowed, expiry.Err == nil && expiry.Found, d.Promise.Mode.String()
	if !d.Unlimited {
		l.Capacity, l.Remaining = &d.Limit, &d.Remaining
	}
	l.ResetAfter, l.FreesAt = milliseconds(d.ResetAfter), freesAt(d)
	if !d.Allowed && d.RetryAfter != headgate.Never {
		retry := milliseconds(d.RetryAfter)
		l.RetryAfter = &retry
	}
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
