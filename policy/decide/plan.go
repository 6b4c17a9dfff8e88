package decide

import (
	"cmp"
	"slices"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
)

// plan is what a request has become in its batch: operations, and the charges that the deciding one consists of.
type plan struct {
	request *Request
	policy  *policy.Policy // the first that the request names; nil for inline limits
	err     error
	// op is the index of the deciding operation. It is -1 if no operation decides: all limits are shadows, the request
	// is denied without its key, or err is set.
	op int
	// charges are the deciding operation's, in its order, and besides the operations that follow it.
	charges
	besides span
	space   string // of the operation
	failure policy.Failure
	cost    int64
	choices choices
	term    *engine.Term // of a reserve: the shortest of its policies
	// reports is true if the operation before the deciding one restarts a reservation's term.
	reports bool
	// denied is true if the request lacks a part of its route's key. Such a request is not charged and never passes.
	denied bool
}

// span is a part of one of the batch's lists.
type span struct{ from, to int }

// beside is an operation that decides nothing: of a shadow, or a peek at an item's limit that shares its counter with
// the smaller one that was charged.
type beside struct {
	policy.Charge

	op int
}

// Add appends the operations for a request.
func (b *Batch) Add(r *Request) {
	at := plan{request: r, op: -1, failure: policy.Weakest(), besides: span{from: len(b.besides)}}
	key, named := r.Key, r.Key
	if b.keys.secrets != nil {
		key, named = b.keys.of(r)
	}
	switch {
	case r.Kind == engine.OpSettle:
		at.err = b.settle(&at)
	case r.Kind == engine.OpRenew && r.Reservation != "":
		at.err = b.renew(&at)
	default:
		if at.err = b.gather(&at, key, named); at.err == nil && !at.denied {
			at.err = b.plan(&at, key)
		}
	}
	if at.err != nil {
		b.besides = b.besides[:at.besides.from]
	}
	at.besides.to = len(b.besides)
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

// gather collects the charges of the request's items, the shadows' too.
func (b *Batch) gather(at *plan, key, named string) (err error) {
	r := at.request
	if err := engine.CheckCharges(max(1, len(r.Items))); err != nil { // without Items, the request is its own item
		return err
	}
	clear(b.gathered)
	b.gathered = b.gathered[:0]
	at.denied = r.Route != nil && r.Route.NoKey != nil
	for i := range r.count() {
		from := len(b.gathered)
		if r.listed() {
			key, named = b.keys.text(r.Items[i].Key, r.Items[i].Counted)
		}
		if err = b.limitsOf(at, i, named); err != nil {
			return r.ofItem(i, err)
		}
		for j := from; j < len(b.gathered); j++ {
			c := &b.gathered[j]
			if c.Space != "" { // a disabled policy does not count
				c.Space = b.rules.Limiter.Space(c.Space)
			}
			if r.listed() {
				c.Key, c.Items = key, 1<<i
			}
		}
	}
	return nil
}

// limitsOf appends the charges of an item. It finds none if the route's policies are no longer in the file.
func (b *Batch) limitsOf(at *plan, i int, named string) error {
	r := at.request
	item, from := r.item(i), len(b.gathered)
	if r.listed() && item.Key == "" { // an empty key would count under the first item's key
		return &engine.InputError{Field: "key", Value: `""`, Accepted: "1 to 1024 bytes"}
	}
	if r.Route != nil {
		b.routed(at, i, named)
		return nil
	}
	p, ok := b.policies.Get(item.Policy)
	inline := item.Limit != engine.Limit{} || item.Limits != nil
	switch {
	case ok:
	case item.Policy != "" && !inline:
		return &NoPolicyError{Name: item.Policy, policies: b.policies}
	default:
		b.inline(at, item)
		return nil
	}
	cost := item.cost(p.Cost)
	at.names(p, cost, p.Answers())
	if r.Kind == engine.OpReserve {
		at.term = at.term.Shorter(p.ShortestTerm())
	}
	b.gathered = p.Charges(b.gathered, named, cost, b.keys.names...)
	policy.Classify(b.gathered[from:], r.Class, named, b.keys.names...)
	if r.Target != "" {
		kept := slices.DeleteFunc(b.gathered[from:], func(c policy.Charge) bool { return c.Target != r.Target })
		if b.gathered = b.gathered[:from+len(kept)]; len(kept) == 0 {
			return &NoPolicyError{Name: r.Target, policies: b.policies}
		}
	}
	r.estimate(p, b.gathered[from:])
	return nil
}

// names records a policy that the request names, directly or by its route.
func (at *plan) names(p *policy.Policy, cost int64, failure policy.Failure) {
	if at.policy == nil {
		at.policy, at.space = p, p.Space()
	}
	at.cost, at.failure = max(at.cost, cost), at.failure.And(failure)
}

// routed appends the charges of all policies of one charge of a route. A policy may have been removed from the file
// since the route was found.
func (b *Batch) routed(at *plan, i int, named string) {
	r := at.request
	item, first := r.item(i), (*policy.Policy)(nil)
	for _, name := range r.Route.Route.Charges[i].Policies {
		if p, ok := b.policies.Get(name); ok {
			first = p
			break
		}
	}
	if first == nil {
		return
	}
	at.names(first, item.cost(first.Cost), policy.Weakest())
	if at.denied {
		return
	}
	from := len(b.gathered)
	charges, failure := b.policies.ForRoute(b.gathered, &r.Route.Route.Charges[i], &r.Route.Items[i], named, b.keys.names...)
	b.gathered, at.failure = charges, at.failure.And(failure)
	policy.Classify(b.gathered[from:], r.Class, named, b.keys.names...)
}

// inline appends the charges of an item's own limits.
func (b *Batch) inline(at *plan, item *Item) {
	own, cost := InlineRules{Space: InlineSpace, Failure: b.rules.Failure}, item.cost(1)
	if item.Inline != nil {
		own = *item.Inline
	}
	if at.space == "" {
		at.space = own.Space
	}
	at.cost, at.failure = max(at.cost, cost), at.failure.And(own.Failure)
	one := policy.Inline(engine.Charge{Limit: item.Limit, Cost: cost})
	if at.request.listed() {
		one.Space = own.Space
	}
	if item.Limits == nil {
		b.gathered = append(b.gathered, one)
		return
	}
	for _, one.Limit = range item.Limits {
		b.gathered = append(b.gathered, one)
	}
}

// plan appends the operations of a request whose charges were gathered: one for all deciding charges, and one for each
// charge beside them. In the batch's charges it keeps the deciding ones.
func (b *Batch) plan(at *plan, key string) error {
	r, gathered := at.request, b.gathered
	op := engine.Op{Kind: r.Kind, Key: key, Space: b.rules.Limiter.Space(at.space), ID: r.ID, Atomic: r.Atomic}
	r.hold(&op)
	op.Hints.Settled = r.Kind == engine.OpAllow && r.settles(gathered)
	var first engine.Charge
	if len(gathered) > 0 {
		first = gathered[0].Charge
	}
	unlimited, err := b.join(at, &op, gathered)
	if err != nil {
		return err
	}
	switch denies := func(c engine.Charge) bool { return c.Limit.Algorithm().DeniesAll() }; {
	case len(op.Charges) == 0 && (unlimited || op.Kind == engine.OpReserve):
		// A client needs a reservation to settle, or a permit, although no limit can deny it.
		at.failure = policy.Local
		none := policy.Inline(engine.Charge{Key: first.Key, Items: first.Items, Limit: engine.NoLimit(), Cost: 1})
		b.charge(&op, &none)
		fallthrough
	case isHold(op.Kind) && slices.ContainsFunc(op.Charges, denies):
		if isHold(op.Kind) {
			op.Kind = engine.OpPeek
		}
	}
	if len(op.Charges) > 0 {
		at.SetCharges(b.gathered...)
		b.decides(at, &op)
	}
	b.beside(at, &op)
	return nil
}

func (r *Request) settles(charges []policy.Charge) bool {
	return r.Settled || r.Undoable && (r.Route != nil && r.Route.Route.RefundOnError || slices.ContainsFunc(charges, paces))
}

// paces reports whether the charge can delay the request.
func paces(c policy.Charge) bool {
	return !c.Shadow && c.Limit.Algorithm().Paces() && c.Cost > 0
}

// decides appends the deciding operation.
func (b *Batch) decides(at *plan, op *engine.Op) {
	r := at.request
	if r.listed() {
		op.Space, op.Key = op.Charges[0].Space, op.Charges[0].Key
	}
	countable(op)
	if op.Kind == engine.OpReserve {
		r.reserves(op)
		setTerm(op, at.term, b.gathered)
	}
	at.failure.Hint(op)
	r.holdWith(op)
	at.op = len(b.Ops)
	b.Ops = append(b.Ops, *op)
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

// beside appends the operations that decide nothing, in the order of the batch's list.
func (b *Batch) beside(at *plan, deciding *engine.Op) {
	for i := at.besides.from; i < len(b.besides); i++ {
		s := &b.besides[i]
		space, key := cmp.Or(s.Space, deciding.Space), cmp.Or(s.Key, deciding.Key)
		op := engine.Op{Kind: engine.OpPeek, Space: space, Key: key, Hints: engine.Hints{Shadow: true, NoShare: true}, Charges: []engine.Charge{{Limit: s.Limit}}}
		if s.Shadow {
			op = at.request.shadow(space, key, s.Charge.Charge, deciding)
			countable(&op)
		}
		s.op = len(b.Ops)
		b.Ops = append(b.Ops, op)
	}
}
