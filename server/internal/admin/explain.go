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
	whole := p.Charges(nil, of.key, e.Cost, of.names()...) // with the units that a class leaves
	charges := slices.Clone(whole)
	policy.Classify(charges, class, of.key, of.names()...)
	var together []engine.Charge
	var deciding []int
	for i := range charges {
		e.Limits = append(e.Limits, f.rule(&charges[i], of))
		if !charges[i].Shadow {
			together, deciding = append(together, charges[i].Charge), append(deciding, i)
		}
	}
	q := questions{of: engine.Op{Space: p.Space(), Key: key}}
	p.Failure.Hint(&q.of)
	if len(together) > 0 {
		q.ask(engine.OpPeek, "", together, func(r *engine.Answer) { answer(&e, r, deciding, p.Failure) })
	}
	for i := range charges {
		l := &e.Limits[i]
		askLimit(&q, l, charges[i].Charge, whole[i].Limit)
		expiry := q.ask(engine.OpExpiry, "", []engine.Charge{charges[i].Charge}, func(r *engine.Answer) {
			l.State = l.Error == "" && r.Err == nil && r.Found
			unread = unread || r.Err != nil
		})
		if a.Stored != nil {
			l.StoredAs = a.Stored(expiry)
		}
		for _, c := range whole[i].InClasses(of.key, of.names()...) {
			q.ask(engine.OpPeek, "", []engine.Charge{c.Charge}, func(r *engine.Answer) { l.Classes = append(l.Classes, inClass(c.Class, r)) })
		}
	}
	q.answer(ctx, a.Decide)
	return e, unread
}

// questions are operations that change nothing, each with a function that reads its answer.
type questions struct {
	of   engine.Op // what all of them have
	ops  []engine.Op
	read []func(r *engine.Answer)
}

// ask adds a question about a key, by default that of all, and returns its operation.
func (q *questions) ask(kind engine.Kind, key string, charges []engine.Charge, read func(r *engine.Answer)) *engine.Op {
	op := q.of
	op.Kind, op.Key, op.Charges = kind, cmp.Or(key, op.Key), charges
	q.ops, q.read = append(q.ops, op), append(q.read, read)
	return &op
}

// answer asks all questions together, and reads the answers in the same order.
func (q *questions) answer(ctx context.Context, decide func(context.Context, []engine.Op, []engine.Answer)) {
	results := make([]engine.Answer, len(q.ops))
	decide(ctx, q.ops, results)
	for i := range results {
		q.read[i](&results[i])
	}
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

// askLimit asks for the standing of a limit, and for the state that only some limits have: the state of all keys
// together, or the rate in force. The argument whole is the whole limit, including the units that a class leaves.
func askLimit(q *questions, l *adminapi.Standing, c engine.Charge, whole engine.Limit) {
	var free int64 // for a key that has not been used, which tells the state of all keys
	if unused, ok := c.Limit.UnusedKey(q.of.Key, rand.Text()); ok {
		q.ask(engine.OpPeek, unused, []engine.Charge{{Space: c.Space, Limit: c.Limit, Cost: 1}}, func(r *engine.Answer) { free = r.Binds().Remaining })
	}
	q.ask(engine.OpPeek, "", []engine.Charge{c}, func(r *engine.Answer) {
		if r.Err != nil {
			l.Error = r.Err.Error()
			return
		}
		l.Set(r.Binds(), r.At(), r.Promise.Mode)
		if limit := c.Limit; limit.Algorithm().Divides() {
			if limit.Algorithm().Holds() {
				limit = whole // keys of other classes may hold the permits that a class must leave free
			}
			p, _ := limit.Pool(r.Binds(), free)
			l.Pool = &adminapi.Pool{
				Burst: p.Burst, Outstanding: p.Outstanding, OfKey: p.OfKey, Part: p.Part, HeavyKeys: p.HeavyKeys,
				Permits: limit.Algorithm().Holds(), Groups: limit.Numbers().Nested,
			}
		}
		if c.Limit.Algorithm().Adapts() {
			l.InForce = adminapi.InForceOf(r.Binds(), c.Limit)
		}
	})
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
