package headgate

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strconv"

	"github.com/headgate/headgate/engine"
)

// Charge is one of several charges of a request, with its own policy or semaphore, key and cost. Charges on the same
// policy and key are added up. If some of them are under a class ([Policy.LeavingPercent]), its limit decides them all.
type Charge struct {
	// Policy is a policy of the limiter.
	Policy *Policy
	// Semaphore is a semaphore of the limiter, used instead of a policy. Only [Limiter.ReserveAll] accepts it.
	Semaphore *Semaphore
	// Key is the key to charge.
	Key string
	// Units is the cost: 1 or more, and 1 if it is not set. With [NoUnits] the policy is included in the answer but is
	// not charged.
	Units int64
	// Atomic rejects the whole list if its keys are in several slots of a Redis Cluster, instead of deciding it slot by
	// slot ("split"). Keys with the same text in braces are in one slot, such as "{acme}:ann" and "{acme}:bob". Other
	// stores decide every list in one step.
	Atomic bool
}

// NoUnits is the [Charge].Units of a charge that costs nothing.
const NoUnits = math.MinInt64

// cost returns the number of units to charge.
func (c *Charge) cost() int64 {
	switch c.Units {
	case 0:
		return 1
	case NoUnits:
		return 0
	default:
		return c.Units
	}
}

// of returns the charge's policy, or its semaphore's. It returns nil if the charge names neither or both.
func (c *Charge) of() *Policy {
	switch {
	case c.Semaphore == nil:
		return c.Policy
	case c.Policy == nil:
		return c.Semaphore.policy
	default:
		return nil
	}
}

// AllowEach decides up to 1000 charges separately, in order, in one call to the store. If there are more, every result
// contains an error.
func (l *Limiter) AllowEach(ctx context.Context, charges ...Charge) []Result {
	l = l.orBroken()
	ops, results := make([]engine.Op, len(charges)), make([]Result, len(charges))
	for i := range charges {
		c := &charges[i]
		ops[i] = engine.Op{Kind: engine.OpAllow, Key: c.Key}
		if p := c.of(); p != nil && p.delays {
			ops[i].Charges = []engine.Charge{{Limit: engine.Invalid(p.named(errDelays))}}
		} else if p != nil && p.limiter == l {
			ops[i].Space, ops[i].Charges = p.space, p.charges(nil, c.cost())
			results[i].Policy = p.name
		} else {
			ops[i].Charges = []engine.Charge{{Limit: engine.Invalid(errPolicy())}}
		}
	}
	for i, r := range l.do(ctx, ops, nil) {
		results[i].Verb, results[i].Key, results[i].Units = ops[i].Kind.String(), charges[i].Key, charges[i].cost()
		results[i].Decision, results[i].Err = decisionOf(&ops[i], &r.Answer, results[i].Policy), r.Err
	}
	return results
}

// AllowAll charges each policy for its own key and cost, or charges nothing: for example, one unit for an address and
// one for a user. A request may have 1 to 32 limits in all. It is decided in one atomic step, except on a Cluster,
// where the slots are charged one after another unless a charge is Atomic. Decision.Binding names the policy whose
// limit denied, and Decision.Limits contains the outcome of each limit. AllowAll does not accept semaphores; use
// [Limiter.ReserveAll]. AllowAll returns the same errors as a [Policy]; they include the index of the charge.
func (l *Limiter) AllowAll(ctx context.Context, charges ...Charge) (Decision, error) {
	answer := l.list(ctx, engine.OpAllow, charges)
	return answer.decision, answer.err
}

// PeekAll returns the decision that [Limiter.AllowAll] would make, and writes nothing.
func (l *Limiter) PeekAll(ctx context.Context, charges ...Charge) (Decision, error) {
	answer := l.list(ctx, engine.OpPeek, charges)
	return answer.decision, answer.err
}

// ReserveAll charges like [Limiter.AllowAll], and returns a reservation that the caller settles with the units used by
// each charge ([Reservation.Commit]). For a semaphore it acquires a permit. Settling the reservation releases the
// permit, which also expires after the lease time unless [Reservation.Renew] is called. If all limits are token buckets
// and pacers, it also reserves units that refill later, like [Policy.Reserve]. On a denial the reservation is nil.
//
// With limits of 60 requests and 10 000 tokens a minute and five concurrent calls, a call that reserved 4000 tokens and
// used 1500 leaves 59 requests, 8500 tokens and, once it is settled, all five permits.
func (l *Limiter) ReserveAll(ctx context.Context, charges ...Charge) (*Reservation, Decision, error) {
	answer := l.list(ctx, engine.OpReserve, charges)
	return answer.reservation, answer.decision, answer.err
}

// list decides the charges in one operation.
func (l *Limiter) list(ctx context.Context, kind engine.Kind, charges []Charge) (a reserved) {
	if l = l.orBroken(); l.invalid != nil {
		a.err = l.invalid
		return a
	}
	c := calls.Get().(*opBuffers)
	defer c.freeList()
	op, r := &c.op[0], &c.results[0]
	*op = engine.Op{Kind: kind}
	if kind == engine.OpReserve {
		op.ID, op.Listed, op.Ahead = rand.Text(), len(charges), longestDelay(ctx)
	}
	if err := l.gather(c, charges); err != nil {
		a.err = l.named(charges, err)
		return a
	}
	l.run(ctx, c.op[:], c.results[:])
	if l.isObserved() {
		l.observe(ctx, op, r)
	}
	l.releaseLate(op, r.Err)
	if a = l.reserved(op, r, kind == engine.OpReserve); a.err != nil {
		a.err = l.named(charges, a.err)
	} else {
		a.decision.ofList(charges, op)
	}
	return a
}

// ofList sets the names of the policies that a list's limits belong to.
func (d *Decision) ofList(charges []Charge, op *engine.Op) {
	of := func(limit int) string { return charges[op.Charges[limit].FirstItem()].of().name }
	d.Binding.Policy = of(d.Binding.Index)
	for i := range d.Limits {
		d.Limits[i].Policy = of(i)
	}
}

// charge decides like AllowAll, for package core. If settled is set, the charge can be settled, and a pacer's delay is
// no error, because the caller waits.
func (l *Limiter) charge(ctx context.Context, charges []Charge, settled bool) (op engine.Op, d Decision, r result) {
	if l = l.orBroken(); l.invalid != nil {
		return op, d, failed(l.invalid)
	}
	var c opBuffers
	c.op[0] = engine.Op{Kind: engine.OpAllow, Hints: engine.Hints{Settled: settled}}
	if err := l.gather(&c, charges); err != nil {
		return op, d, failed(l.named(charges, err))
	}
	op = c.op[0]
	if r = l.do(ctx, c.op[:], nil)[0]; r.Err != nil {
		return op, d, failed(l.named(charges, r.Err))
	}
	if !canSettle(&r) {
		r.Reservation = nil
	}
	d.readOp(&op, &r.Answer)
	d.ofList(charges, &op)
	return op, d, r
}

// named adds the policy's name to the error of a charge.
func (l *Limiter) named(charges []Charge, err error) error {
	item, ok := errors.AsType[*engine.ItemError](err)
	if !ok || item.Item >= len(charges) {
		return err
	}
	if p := charges[item.Item].of(); p != nil && p.limiter == l {
		return &engine.ItemError{Item: item.Item, Err: p.named(item.Err)}
	}
	return err
}

// freeList clears the fields that only lists set.
func (c *opBuffers) freeList() {
	clear(c.op[0].Charges)
	clear(c.charges)
	c.op[0] = engine.Op{}
	c.results[0].Reuse()
	c.charges = c.charges[:1]
	calls.Put(c)
}

// gather makes one operation from the charges. It adds up charges on the same counter.
func (l *Limiter) gather(c *opBuffers, charges []Charge) error {
	op := &c.op[0]
	op.Charges = c.charges[:0]
	var term *engine.Term
	var one [1]engine.Charge
	for i := range charges {
		item := &charges[i]
		if err := l.checkItem(op, i, item); err != nil {
			return err
		}
		policy := item.of()
		op.Atomic = op.Atomic || item.Atomic
		if op.Kind == engine.OpReserve {
			term = term.Shorter(policy.term)
		}
		again := policy.firstPays && op.Chosen()
		for _, own := range policy.charges(one[:0], item.cost()) {
			own.Space, own.Key, own.Items = policy.space, item.Key, 1<<i
			at := op.Counter(&own)
			if again || at >= 0 && op.Charges[at].Choice != own.Choice {
				return &engine.ItemError{Item: i, Err: &engine.InputError{Field: "policy", Value: strconv.Quote(policy.name), Accepted: "one policy of First in a list, and none of its limits charged by another policy"}}
			}
			if at < 0 {
				op.Charges = append(op.Charges, own)
			} else {
				have := &op.Charges[at]
				have.Cost, have.Items = engine.Sum(have.Cost, own.Cost), have.Items|own.Items
				if own.Limit.StricterThan(have.Limit) { // a class of the policy, or another policy with the same counter
					have.Limit = own.Limit
				}
			}
		}
	}
	c.charges = op.Charges
	if len(op.Charges) > 0 {
		op.Space, op.Key = op.Charges[0].Space, op.Charges[0].Key
	}
	op.SetTerm(term)
	return nil
}

// checkItem checks the fields of one charge before gather merges it with others.
func (l *Limiter) checkItem(op *engine.Op, i int, c *Charge) error {
	var input error
	switch policy := c.of(); {
	case policy == nil || policy.limiter != l:
		input = errPolicy()
	case policy.delays && op.Kind == engine.OpAllow && !op.Hints.Settled:
		input = errDelays
	case c.Key == "":
		input = &engine.InputError{Field: "key", Value: `""`, Accepted: "1 to 1024 bytes"}
	case c.cost() < 0:
		input = &engine.InputError{Field: "Units", Value: strconv.FormatInt(c.Units, 10), Accepted: "1 or more, or NoUnits"}
	default:
		return nil
	}
	return &engine.ItemError{Item: i, Err: input}
}

// errPolicy returns the error for a charge without a policy of this limiter. The counters of another limiter's policy
// may be in another store.
func errPolicy() error {
	return &engine.InputError{Field: "policy", Value: "not set, or of another limiter", Accepted: "a policy or a semaphore of this limiter"}
}
