package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
)

const (
	// explainTimeout bounds the store calls for one explanation.
	explainTimeout = 2 * time.Second
	// maxExplained is the maximum number of policies checked for an explanation without a policy.
	maxExplained = 1000
)

func (a *api) explain(r *http.Request, body *adminapi.KeyAndCost) (answer adminapi.Explanations, err error) {
	key, err := body.Read()
	if err != nil {
		return answer, err
	}
	counted := a.counted(key)
	ctx, cancel := context.WithTimeout(r.Context(), explainTimeout)
	defer cancel()
	f := a.inForce()
	if body.Policy == "" {
		answer = a.explainAll(ctx, &f, &counted, body.Cost, body.Class)
	} else {
		p, ok := f.current.Policies.Get(body.Policy)
		if !ok {
			return answer, adminapi.NoPolicy(body.Policy)
		}
		e, _ := a.explainKey(ctx, &f, p, &counted, 0, body.Cost, body.Class)
		answer.Explanations = append(answer.Explanations, e)
		answer.Explanations = append(answer.Explanations, a.explainOld(ctx, &f, p, &counted, body.Cost, body.Class)...)
		answer.OverrideUnknown = answer.Explanations[0].OverrideUnknown
	}
	answer.Open = a.open(ctx, &f, &counted, body.Policy)
	if a.Outage != nil {
		answer.StoreAway = a.Outage().Class
	}
	return answer, nil
}

// explainAll explains a key under each policy where it has an override, is denied, or has or may have state. It checks
// at most maxExplained policies.
func (a *api) explainAll(ctx context.Context, f *inForce, key *countedKey, cost *int64, class string) (answer adminapi.Explanations) {
	answer.Explanations = []adminapi.Explanation{}
	for i, name := range f.current.Policies.Names() {
		if i == maxExplained {
			break
		}
		p, _ := f.current.Policies.Get(name)
		if a.Counts != nil && !a.Counts(name, p.Space(), key.key) {
			continue
		}
		e, unread := a.explainKey(ctx, f, p, key, 0, cost, class)
		if answer.OverrideUnknown = answer.OverrideUnknown || e.OverrideUnknown; unread || slices.ContainsFunc(e.Limits, interesting) {
			answer.Explanations = append(answer.Explanations, e)
		}
		answer.Explanations = append(answer.Explanations, a.explainOld(ctx, f, p, key, cost, class)...)
	}
	return answer
}

// explainOld explains the state that the key has under the second secret. It returns nil if there is no such state.
func (a *api) explainOld(ctx context.Context, f *inForce, p *policy.Policy, key *countedKey, cost *int64, class string) (all []adminapi.Explanation) {
	for secret := 1; secret < len(key.counted); secret++ {
		e, _ := a.explainKey(ctx, f, p, key, secret, cost, class)
		if slices.ContainsFunc(e.Limits, func(l adminapi.Standing) bool { return l.State }) {
			all = append(all, e)
		}
	}
	return all
}

// interesting reports whether the store has or may have state for the key, the key has an override, or the limit denies
// it.
func interesting(l adminapi.Standing) bool {
	return l.State || l.Rule != "" || l.Error != "" || !l.Allowed
}

// explainKey peeks at all limits of a key: the deciding ones together, like a take, and each separately. unread is true
// if the store did not answer whether it has state for the key. In that case, the standings can come from the process's
// share of the limits.
func (a *api) explainKey(
	ctx context.Context, f *inForce, p *policy.Policy, of *countedKey, secret int, cost *int64, class string,
) (e adminapi.Explanation, unread bool) {
	key := of.counted[secret]
	e = adminapi.Explanation{
		Policy: p.Name, Combined: p.Combined(), KeyFields: adminapi.NewKey(of.key), Cost: p.Cost, Allowed: true, Generation: a.Service.Generation(),
		OldSecret: secret > 0, OverrideUnknown: !of.known() && p.HasOverrides(),
	}
	if of.hashed {
		e.Counted = key
	}
	if cost != nil {
		e.Cost = *cost
	}
	charges := p.Charges(nil, of.key, e.Cost, of.names()...)
	inClasses := make([][]policy.Charge, len(charges))
	for i := range charges {
		inClasses[i] = charges[i].InClasses(of.key, of.names()...)
	}
	whole := make([]engine.Limit, len(charges)) // the whole limits, including the units that a class leaves
	for i := range charges {
		whole[i] = charges[i].Limit
	}
	policy.Classify(charges, class, of.key, of.names()...)
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
		standing := f.rule(c, of)
		if a.Stored != nil {
			standing.StoredAs = a.Stored(&ops[len(ops)-1])
		}
		if unused, ok := c.Limit.UnusedKey(key, rand.Text()); ok {
			ops = append(ops, engine.Op{Kind: engine.OpPeek, Space: space, Key: unused, Charges: []engine.Charge{{Space: c.Space, Limit: c.Limit, Cost: 1}}})
		}
		if !c.Shadow {
			together, deciding = append(together, c.Charge), append(deciding, i)
		}
		e.Limits = append(e.Limits, standing)
	}
	for i := range inClasses {
		for j := range inClasses[i] {
			ops = append(ops, engine.Op{Kind: engine.OpPeek, Space: p.Space(), Key: key, Charges: []engine.Charge{inClasses[i][j].Charge}})
		}
	}
	if ops[0] = (engine.Op{Kind: engine.OpPeek, Space: p.Space(), Key: key, Charges: together}); len(together) == 0 {
		ops = ops[1:]
	}
	for i := range ops {
		p.Failure.Hint(&ops[i])
	}
	results := make([]engine.Answer, len(ops))
	a.Decide(ctx, ops, results)
	var answered engine.Answer
	if len(together) > 0 {
		answered, results = results[0], results[1:]
		answer(&e, &answered, deciding, p.Failure)
	}
	for i := range e.Limits {
		stand(&e.Limits[i], &results[0], &results[1])
		unread = unread || results[1].Err != nil
		results = more(&e.Limits[i], charges[i].Limit, whole[i], results)
	}
	for i := range inClasses {
		for j := range inClasses[i] {
			e.Limits[i].Classes = append(e.Limits[i].Classes, inClass(inClasses[i][j].Class, &results[0]))
			results = results[1:]
		}
	}
	return e, unread
}

// rule returns a standing that describes a charge's limit and its source: the override and the change that set it. The
// numbers are not set yet.
func (f *inForce) rule(c *policy.Charge, key *countedKey) adminapi.Standing {
	l := adminapi.Standing{Policy: c.Policy, Combined: c.Owner.Combined(), Limit: c.Limit.String(), From: "file", Class: c.Class, Shadow: c.Shadow, Unit: c.Owner.Unit}
	if c.Target != c.Policy {
		l.Target = c.Target
	}
	if c.Limit.Punishes() {
		l.Unit, l.Class = "ignored denials", ""
	}
	l.Rule, _ = c.Rule(key.key, key.names()...)
	if l.Change = f.active(c.Target, l.Rule); l.Change != nil {
		l.From = "change"
	}
	return l
}

// answer sets the answer of an explanation from the result for the whole request, and marks the limit that determines
// it.
func answer(e *adminapi.Explanation, r *engine.Answer, deciding []int, failure policy.Failure) {
	if policy.NotKnown(r.Err) || r.Promise.Mode == engine.Fallback {
		e.Failure = failure.String()
	}
	if r.Err != nil {
		_, e.Allowed = failure.Answer(engine.OpPeek, e.Cost, r.Err)
		return // each limit contains its error
	}
	limit, wait := &e.Limits[deciding[r.Binding]], r.Binds().RetryAfter
	limit.Decides = true
	e.Allowed, e.Never, e.FreesAt = r.Allowed, wait == engine.Never, adminapi.FreesAt(r.At(), wait)
	for i := range deciding {
		e.Limits[deciding[i]].Strikes = r.Of(i).Strikes
	}
	if e.Never && limit.Change != nil && !limit.Change.Expires.IsZero() {
		e.Never, e.FreesAt = false, &limit.Change.Expires // for example, when a deny for ten minutes ends
	}
}

// stand sets the standing from the results of a peek and an expiry.
func stand(l *adminapi.Standing, peek, expiry *engine.Answer) {
	if peek.Err != nil {
		l.Error = peek.Err.Error()
		return
	}
	l.Set(peek.Binds(), peek.At(), peek.Promise.Mode)
	l.State = expiry.Err == nil && expiry.Found
}

// more sets the state that only some limits have: the state of all keys together, or the rate in force. It returns the
// remaining results. The argument whole is the whole limit, including the units that a class leaves.
func more(l *adminapi.Standing, limit, whole engine.Limit, results []engine.Answer) (rest []engine.Answer) {
	peek, free, rest := &results[0], int64(0), results[2:]
	if _, ok := limit.UnusedKey("", ""); ok {
		free, rest = rest[0].Binds().Remaining, rest[1:]
	}
	if peek.Err == nil && limit.Algorithm().Divides() {
		if limit.Algorithm().Holds() {
			limit = whole // keys of other classes may hold the permits that a class must leave free
		}
		p, _ := limit.Pool(peek.Binds(), free)
		l.Pool = &adminapi.Pool{
			Burst: p.Burst, Outstanding: p.Outstanding, OfKey: p.OfKey, Part: p.Part, HeavyKeys: p.HeavyKeys,
			Permits: limit.Algorithm().Holds(), Groups: limit.Numbers().Nested,
		}
	}
	if peek.Err == nil && limit.Algorithm().Adapts() {
		l.InForce = adminapi.InForceOf(peek.Binds(), limit)
	}
	return rest
}

// inClass returns a class's standing from the result of a peek.
func inClass(class string, peek *engine.Answer) adminapi.ClassStanding {
	s := adminapi.ClassStanding{Class: class}
	if of := peek.Binds(); peek.Err == nil {
		if s.Allowed = peek.Allowed; !of.Unlimited {
			s.Capacity, s.Remaining = &of.Limit, &of.Remaining
		}
	}
	return s
}

// open returns the open reservations that charged a key under a policy, or under any policy if policy is "". It returns
// none if the store is unavailable or keeps no reservations.
func (a *api) open(ctx context.Context, f *inForce, key *countedKey, policy string) (open []adminapi.Open) {
	if a.OpenOf == nil {
		return nil
	}
	divided := f.current.Policies.Divided()
	for _, counted := range key.counted {
		of, _ := a.OpenOf(ctx, counted, adminapi.MaxOpen, divided...)
		for _, r := range of {
			if one := openOf(r); policy == "" || slices.ContainsFunc(one.Charges, func(c adminapi.OpenCharged) bool { return c.Policy == policy }) {
				open = append(open, one)
			}
		}
	}
	return open
}

func openOf(r *engine.Reservation) adminapi.Open {
	one := adminapi.Open{ID: r.ID, EndsAt: time.UnixMicro(r.Due).UTC(), Unsettled: r.Term.Then.String()}
	for i := range r.Limits {
		l := &r.Limits[i]
		policy, _ := engine.PolicyOf(cmp.Or(l.Space, r.Space))
		one.Charges = append(one.Charges, adminapi.OpenCharged{
			KeyFields: adminapi.NewKey(cmp.Or(l.Key, r.Key)), Policy: policy, Limit: l.Limit.String(), Units: l.Units, Reported: l.Reported,
		})
	}
	return one
}
