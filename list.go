package headgate

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strconv"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// Charge is one of several charges of a request, with its own policy or semaphore, key and cost. Charges on the same
// policy and key are added up. If some of them are under a class ([Policy.LeavingPercent]), its limit decides them all.
type Charge struct {
	// Policy is a policy of the limiter.
	Policy *Policy
	// Semaphore is a semaphore of the limiter, used instead of a policy. Only ReserveAll and PeekAll accept it.
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
	invalid := l.invalid
	if invalid == nil && len(charges) > engine.MaxOps {
		invalid = &engine.InputError{Field: "charges", Value: strconv.Itoa(len(charges)), Accepted: "1 to 1000 in one call"}
	}
	ops, answers, results := make([]engine.Op, len(charges)), make([]engine.Answer, len(charges)), make([]Result, len(charges))
	for i := range charges {
		c, err := &charges[i], invalid
		ops[i] = engine.Op{Kind: engine.OpAllow, Key: c.Key}
		if err == nil {
			err = l.namedOf(c, l.checkItem(&ops[i], c))
		}
		if results[i].Err = err; err != nil {
			ops[i].Charges = []engine.Charge{{Limit: engine.Invalid(err)}}
			continue
		}
		p := c.of()
		ops[i].Space, ops[i].Charges = p.core.Space(), p.core.Charges(nil, c.cost())
		results[i].Policy = p.Name()
	}
	l.core.Do(ctx, ops, answers)
	for i := range results {
		r, c, a := &results[i], &charges[i], &answers[i]
		r.Verb, r.Key, r.Units = ops[i].Kind.String(), c.Key, c.cost()
		switch {
		case r.Err != nil: // a mistake in the charge, which a.Err need not name as precisely
		case a.Err != nil:
			r.Err = l.namedOf(c, a.Err)
		default:
			r.Decision = c.of().decision(a)
		}
	}
	return results
}

// AllowAll charges each policy for its own key and cost, or charges nothing: for example, one unit for an address and
// one for a user. A request may have 1 to 32 charges, and 1 to 32 limits in all. It is decided in one atomic step,
// except on a Cluster, where the slots are charged one after another unless a charge is Atomic. Decision.Binding names
// the policy whose limit denied, and Decision.Limits contains the outcome of each limit. AllowAll does not accept
// semaphores; use [Limiter.ReserveAll]. AllowAll returns the same errors as a [Policy]; they include the index of the charge.
func (l *Limiter) AllowAll(ctx context.Context, charges ...Charge) (Decision, error) {
	_, d, err := l.list(ctx, engine.OpAllow, charges)
	return d, err
}

// PeekAll returns the decision that [Limiter.AllowAll], or ReserveAll for semaphores, would make, and writes nothing.
func (l *Limiter) PeekAll(ctx context.Context, charges ...Charge) (Decision, error) {
	_, d, err := l.list(ctx, engine.OpPeek, charges)
	return d, err
}

// ReserveAll charges like [Limiter.AllowAll], and returns a reservation that the caller settles with the units used by
// each charge ([Reservation.Commit]). For a semaphore it acquires a permit. Settling the reservation releases the
// permit, which also expires after the lease time unless [Reservation.Renew] is called. If all limits are token buckets
// and pacers, it also reserves units that refill later, like [Policy.Reserve]. On a denial the reservation is nil.
//
// With limits of 60 requests and 10 000 tokens a minute and five concurrent calls, a call that reserved 4000 tokens and
// used 1500 leaves 59 requests, 8500 tokens and, once it is settled, all five permits.
func (l *Limiter) ReserveAll(ctx context.Context, charges ...Charge) (*Reservation, Decision, error) {
	return l.list(ctx, engine.OpReserve, charges)
}

// list decides the charges in one operation.
func (l *Limiter) list(ctx context.Context, kind engine.Kind, charges []Charge) (r *Reservation, d Decision, err error) {
	if l = l.orBroken(); l.invalid != nil {
		return nil, d, l.invalid
	}
	c := l.core.List(ctx, func(op *engine.Op) error {
		if op.Kind = kind; kind == engine.OpReserve {
			op.ID, op.Listed, op.Ahead = rand.Text(), len(charges), core.LongestDelay(ctx)
		}
		return l.gather(op, charges)
	})
	defer c.FreeList()
	op, a := c.Op(), c.Answer()
	if a.Err != nil {
		return nil, d, l.named(charges, a.Err)
	}
	d = decisionOn(op, a)
	d.ofList(charges, op)
	if kind == engine.OpReserve {
		r = (*Reservation)(l.core.Reserved(op, a))
	}
	return r, d, nil
}

// ofList sets the names of the policies that a list's limits belong to.
func (d *Decision) ofList(charges []Charge, op *engine.Op) {
	of := func(limit int) string { return charges[op.Charges[limit].FirstItem()].of().Name() }
	d.Binding.Policy = of(d.Binding.Index)
	for i := range d.Limits {
		d.Limits[i].Policy = of(i)
	}
}

// ChargeAll decides like [Limiter.AllowAll], for middleware, and returns the operation. If settled is set, it also
// returns the charge, and a pacer can delay the request. The charge is nil if nothing was charged because of an error or a
// denial, or because no store decided.
func (l *Limiter) ChargeAll(ctx context.Context, settled bool, charges ...Charge) (*core.Charged, engine.Op, Decision, error) {
	op, d := engine.Op{Kind: engine.OpAllow, Hints: engine.Hints{Settled: settled}}, Decision{}
	if l = l.orBroken(); l.invalid != nil {
		return nil, op, d, l.invalid
	}
	if err := l.gather(&op, charges); err != nil {
		return nil, op, d, l.named(charges, err)
	}
	ops, answers := []engine.Op{op}, make([]engine.Answer, 1)
	l.core.Do(ctx, ops, answers)
	a := &answers[0]
	if a.Err != nil {
		return nil, op, d, l.named(charges, a.Err)
	}
	d = decisionOn(&ops[0], a)
	d.ofList(charges, &ops[0])
	if !settled || !a.Allowed || a.Promise.OvershootMax == engine.Unbounded {
		return nil, ops[0], d, nil
	}
	return l.core.ChargedBy(ops, answers), ops[0], d, nil
}

// named adds the policy's name to the error of a charge.
func (l *Limiter) named(charges []Charge, err error) error {
	item, ok := errors.AsType[*engine.ItemError](err)
	if !ok || item.Item >= len(charges) {
		return err
	}
	return &engine.ItemError{Item: item.Item, Err: l.namedOf(&charges[item.Item], item.Err)}
}

// namedOf adds the name of a charge's policy to the charge's error.
func (l *Limiter) namedOf(c *Charge, err error) error {
	if p := c.of(); p != nil && p.limiter == l {
		return p.named(err)
	}
	return err
}

// gather makes one operation from the charges. It adds up charges on the same counter.
func (l *Limiter) gather(op *engine.Op, charges []Charge) error {
	if err := engine.CheckCharges(len(charges)); err != nil {
		return err
	}
	var term *engine.Term
	var one [1]engine.Charge
	for i := range charges {
		item := &charges[i]
		if err := l.checkItem(op, item); err != nil {
			return &engine.ItemError{Item: i, Err: err}
		}
		policy := item.of()
		op.Atomic = op.Atomic || item.Atomic
		if op.Kind == engine.OpReserve {
			term = term.Shorter(policy.core.Term())
		}
		again := policy.core.FirstPays() && op.Chosen()
		for _, own := range policy.core.Charges(one[:0], item.cost()) {
			own.Space, own.Key, own.Items = policy.core.Space(), item.Key, 1<<i
			at := op.Counter(&own)
			if again || at >= 0 && op.Charges[at].Choice != own.Choice {
				return &engine.ItemError{Item: i, Err: &engine.InputError{Field: "policy", Value: strconv.Quote(policy.Name()), Accepted: "one policy of First in a list, and none of its limits charged by another policy"}}
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
	if len(op.Charges) > 0 {
		op.Space, op.Key = op.Charges[0].Space, op.Charges[0].Key
	}
	op.SetTerm(term)
	return nil
}

// checkItem checks the fields of one charge before gather merges it with others.
func (l *Limiter) checkItem(op *engine.Op, c *Charge) error {
	switch policy := c.of(); {
	case c.Policy != nil && c.Semaphore != nil:
		return &engine.InputError{Field: "policy", Value: "set, and a semaphore", Accepted: "one of the two"}
	case policy == nil || policy.limiter != l:
		return errPolicy()
	case c.Semaphore != nil && op.Kind == engine.OpAllow:
		return &engine.InputError{Field: "semaphore", Value: "set", Accepted: "a policy; ReserveAll takes both"}
	case policy.delays && op.Kind == engine.OpAllow && !op.Hints.Settled:
		return errDelays
	case c.Key == "":
		return &engine.InputError{Field: "key", Value: `""`, Accepted: "1 to 1024 bytes"}
	case c.cost() < 0:
		return &engine.InputError{Field: "Units", Value: strconv.FormatInt(c.Units, 10), Accepted: "1 or more, or NoUnits"}
	default:
		return nil
	}
}

// errPolicy returns the error for a charge without a policy of this limiter. The counters of another limiter's policy
// may be in another store.
func errPolicy() error {
	return &engine.InputError{Field: "policy", Value: "not set, or of another limiter", Accepted: "a policy or a semaphore of this limiter"}
}
