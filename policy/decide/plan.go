package decide

import (
	"fmt"
	"slices"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// plan records which operations of the batch belong to a request, so that Answer can build the response from their
// results.
type plan struct {
	request *Request
	policy  *policy.Policy
	err     error
	// op is the index of the deciding operation. It is -1 if no operation decides: all limits are shadows, the request
	// is denied without its key, or err is set.
	op int
	// shadows is the index of the first shadow operation. There is one operation per shadow.
	shadows, shadowCount int
	// owners are the policies of the deciding operation's limits, or nil if all limits belong to the requested policy.
	owners  []*policy.Policy
	failure policy.Failure
	cost    int64
	// items lists, for each limit of the deciding operation, the indexes of its items. It is nil if the request has no
	// items.
	items [][]int
	// own lists the items' limits that share a counter with a smaller limit. Their cost is charged under the smaller
	// limit, and they are only peeked at. peeks is the index of the first such peek.
	own   []itemCharge
	peeks int
	// term and estimates are set for a reserve: see setTerm.
	term      *engine.Term
	estimates []int64
	// reports is true if the operation before the deciding one restarts a reservation's term.
	reports bool
	choices choices
	// denied is true if the request lacks a part of its route's key. Such a request is not charged and never passes.
	denied bool
	// overrides has a bit for each limit of the deciding operation: 1 if the limit comes from an override.
	overrides uint32
}

// overridden records whether limit i of the deciding operation comes from an override.
func (at *plan) overridden(i int, is bool) {
	if at.overrides &^= 1 << i; is {
		at.overrides |= 1 << i
	}
}

// Add appends the operations for a request.
func (b *Batch) Add(r *Request) {
	at := plan{request: r, op: -1}
	key, named := r.Key, r.Key
	if b.keys.secrets != nil {
		key, named = b.keys.of(r)
	}
	switch {
	case r.Kind == engine.OpSettle:
		b.settle(&at)
	case r.Kind == engine.OpRenew && r.Reservation != "":
		b.renew(&at)
	case r.Items != nil:
		b.items(&at)
	case r.Route != nil:
		b.routed(&at, key, named)
	case r.Policy == "":
		b.inline(&at, key)
	default:
		b.named(&at, key, named)
	}
	if r.Outcomes != nil && at.op >= 0 {
		report(&b.Ops[at.op], r.Outcomes)
	}
	b.plans = append(b.plans, at)
}

// report adds outcomes to the charges of limits with adaptive rates.
func report(op *engine.Op, outcomes *algo.Report) {
	for i := range op.Charges {
		if c := &op.Charges[i]; c.Limit.Algorithm().Adapts() {
			c.Report = outcomes
		}
	}
}

// named appends the operations of a request that names a policy.
func (b *Batch) named(at *plan, key, named string) {
	r := at.request
	p, ok := b.policies.Get(r.Policy)
	switch {
	case !ok && r.Limit != engine.Limit{}:
		b.inline(at, key)
		return
	case !ok:
		at.err = &NoPolicyError{Name: r.Policy, policies: b.policies}
		return
	}
	at.policy, at.cost, at.failure = p, p.Cost, p.Answers()
	if r.HasCost {
		at.cost = r.Cost
	}
	b.limits = p.Charges(b.limits[:0], named, at.cost, b.keys.names...)
	policy.Classify(b.limits, r.Class, named, b.keys.names...)
	if r.Target != "" {
		b.limits = slices.DeleteFunc(b.limits, func(c policy.Charge) bool { return c.Target != r.Target })
		if len(b.limits) == 0 {
			at.err = &NoPolicyError{Name: r.Target, policies: b.policies}
			return
		}
	}
	r.estimate(p, b.limits)
	b.charged(at, key, r.Settled)
}

// Routed returns the request that charges an HTTP request to all policies of its route, or to none.
func Routed(m *route.Match) Request {
	r := Request{Kind: engine.OpAllow, Route: m, Class: m.Class}
	if len(m.Items) == 1 {
		only := &m.Items[0]
		r.Key, r.Cost, r.HasCost = only.Key, only.Cost, only.HasCost
		return r
	}
	for i := range m.Items {
		item := &m.Items[i]
		for _, name := range m.Route.Charges[i].Policies {
			r.Items = append(r.Items, Item{Policy: name, Key: item.Key, Cost: item.Cost, HasCost: item.HasCost})
		}
	}
	return r
}

// routed appends the operations of a request whose route has one charge. Overrides are looked up under the key named.
func (b *Batch) routed(at *plan, key, named string) {
	r := at.request
	at.denied = r.Route.NoKey != nil
	for i := range r.Route.Route.Charges {
		for _, name := range r.Route.Route.Charges[i].Policies {
			if at.policy != nil {
				break
			}
			if p, ok := b.policies.Get(name); ok { // the policy may have been removed from the file since the route was found
				at.policy, at.cost = p, p.Cost
			}
		}
	}
	if r.HasCost {
		at.cost = r.Cost
	}
	if at.denied || at.policy == nil {
		return
	}
	b.limits, at.failure = b.policies.ForRoute(b.limits[:0], &r.Route.Route.Charges[0], &r.Route.Items[0], named, b.keys.names...)
	policy.Classify(b.limits, r.Class, named, b.keys.names...)
	b.charged(at, key, r.Settled || r.Undoable && (r.Route.Route.RefundOnError || slices.ContainsFunc(b.limits, paces)))
	if at.op >= 0 && at.owners == nil {
		at.owners = []*policy.Policy{b.limits[slices.IndexFunc(b.limits, func(c policy.Charge) bool { return !c.Shadow })].Owner}
	}
}

// paces reports whether the charge can delay the request.
func paces(c policy.Charge) bool {
	return !c.Shadow && c.Limit.Algorithm().Paces() && c.Cost > 0
}

// op returns a request's operation, with no charges yet.
func (r *Request) op(key string) engine.Op {
	op := engine.Op{Kind: r.Kind, Key: key, ID: r.ID, Atomic: r.Atomic}
	if r.Kind >= engine.OpAcquire {
		r.hold(&op)
	}
	return op
}

// ownCost returns the cost of a request without a policy: its own cost, or 1.
func (r *Request) ownCost() int64 {
	if r.HasCost {
		return r.Cost
	}
	return 1
}

// inline appends the operation of a request with inline limits.
func (b *Batch) inline(at *plan, key string) {
	r := at.request
	op, own := r.op(key), b.own(r.Own)
	at.op, at.cost, at.failure = len(b.Ops), r.ownCost(), own.Failure
	op.Space = core.Space(b.rules.Limiter, own.Space)
	own.Failure.Mark(&op)
	if r.Limits == nil {
		op.Charges = b.charge(engine.Charge{Limit: r.Limit, Cost: at.cost})
	}
	for _, limit := range r.Limits {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: at.cost})
	}
	countable(&op)
	b.Ops = append(b.Ops, op)
}

// own returns the namespace and the failure mode of an inline limit.
func (b *Batch) own(o *Own) Own {
	if o == nil {
		return Own{Space: Inline, Failure: b.rules.Failure}
	}
	return *o
}

// countable replaces OpCount with a take or peek, unless the operation charges a single fixed window. Other limits
// cannot count hits.
func countable(op *engine.Op) {
	if op.Kind != engine.OpCount || len(op.Charges) == 1 && op.Charges[0].Limit.Algorithm().CountsHits() {
		return
	}
	op.Kind = engine.OpAllow
	for i := range op.Charges {
		if op.Charges[i].Cost == 0 {
			op.Kind, op.Charges[i].Cost = engine.OpPeek, 1
		}
	}
}

// charge returns a slice with one charge. It uses the batch's memory if there is room.
func (b *Batch) charge(c engine.Charge) []engine.Charge {
	if len(b.charges) == cap(b.charges) {
		return []engine.Charge{c}
	}
	b.charges = append(b.charges, c)
	return b.charges[len(b.charges)-1 : len(b.charges) : len(b.charges)]
}

// charged appends the operations for the limits of a policy or a route: one for all deciding limits, and one per
// shadow.
func (b *Batch) charged(at *plan, key string, settled bool) {
	r, limiter := at.request, b.rules.Limiter
	space := core.Space(limiter, at.policy.Space())
	op, unlimited := r.op(key), false
	op.Hints.Settled = settled && r.Kind == engine.OpAllow
	at.failure.Mark(&op)
	for i := range b.limits {
		c := &b.limits[i]
		if c.Space != "" { // a disabled policy does not count
			c.Space = core.Space(limiter, c.Space)
		}
		if r.CountDenied && c.Limit.Algorithm().DeniesAll() {
			c.Limit = r.Limit
		}
		if isHold(r.Kind) && c.Limit.Unlimited() {
			unlimited = true
			continue
		}
		if c.Shadow {
			continue
		}
		op.Space = space
		if c.First != nil || at.choices.of != nil {
			if at.err = at.choices.add(&op, c, 0); at.err != nil {
				return
			}
		}
		at.reserves(r.Kind, c)
		at.overridden(len(op.Charges), c.Override)
		if len(b.limits) == 1 {
			op.Charges = b.charge(c.Charge)
		} else {
			op.Charges = append(op.Charges, c.Charge)
			at.owners = append(at.owners, c.Owner)
		}
	}
	if withoutPermits(&op, unlimited); len(op.Charges) > 0 {
		countable(&op)
		if op.Kind == engine.OpReserve && holdsPermits(&op) {
			op.ID = "" // only a list can reserve permits
		}
		at.setTerm(&op)
		r.holdWith(&op)
		at.op = len(b.Ops)
		b.Ops = append(b.Ops, op)
	}
	at.shadows = len(b.Ops)
	for i := range b.limits {
		if c := &b.limits[i]; c.Shadow {
			b.shadow(at, r.shadow(space, key, c.Charge, &op), c, 0)
		}
	}
}

// shadow appends the operation of a shadow.
func (b *Batch) shadow(at *plan, op engine.Op, c *policy.Charge, item int) {
	countable(&op)
	b.Ops = append(b.Ops, op)
	b.shadows = append(b.shadows, Shadow{Owner: c.Owner, Of: c.ShadowOf, candidate: c.Candidate, op: len(b.Ops) - 1, item: item})
	at.shadowCount++
}

// settle appends the operation that settles a reservation.
func (b *Batch) settle(at *plan) {
	held, err := b.open(at.request.Reservation)
	if err != nil {
		at.err = err
		return
	}
	op := held.Settle(at.request.ownCost())
	if used := at.request.Used; used != nil {
		if len(used) != held.Items() {
			at.err = &engine.InputError{Field: "actual", Value: fmt.Sprint(len(used), " numbers"), Accepted: fmt.Sprintf("one number, or one for each of the %d charges that were reserved", held.Items())}
			return
		}
		op = held.SettleEach(func(item int) int64 { return used[item] })
	}
	if at.request.Reports {
		if held.Term == nil {
			at.err = &engine.InputError{Field: "reservation", Value: "without a term", Accepted: "one of a policy with settle_within, for what was used so far"}
			return
		}
		op.Stage = engine.Report
	}
	at.op, at.cost = len(b.Ops), at.request.ownCost()
	b.Ops = append(b.Ops, op)
}

// renew appends the operations that renew the permits of a reservation and restart its term. A reservation with neither
// permits nor a term counts as held.
func (b *Batch) renew(at *plan) {
	held, err := b.open(at.request.Reservation)
	if err != nil {
		at.err = err
		return
	}
	settle := held.Settle(0)
	op, ok := settle.Permits()
	if held.Term != nil {
		settle.Stage = engine.Report
		at.op = len(b.Ops)
		if b.Ops = append(b.Ops, settle); !ok {
			return
		}
		at.reports = true
	}
	if !ok {
		op = engine.Op{Kind: engine.OpPeek, Space: held.Space, Key: held.Key, Charges: []engine.Charge{{Limit: engine.NoLimit()}}}
	} else {
		op.Kind = engine.OpRenew
	}
	at.op = len(b.Ops)
	b.Ops = append(b.Ops, op)
}

func (b *Batch) open(text string) (*engine.Reservation, error) {
	if b.seal != nil {
		return b.seal.Open(text)
	}
	return engine.ParseReservation(text)
}

// textOf returns the text that identifies a reservation when it is settled.
func (b *Batch) textOf(held *headgate.Reservation) string {
	if b.seal != nil {
		return b.seal.Sign(held.String())
	}
	return held.String()
}
