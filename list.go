package headgate

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/headgate/headgate/engine"
)

// Charge is one charge of a request that has several: each has a policy, a key and a cost of its own.
// Two charges of one policy and key are one, of both costs.
type Charge struct {
	// Policy is a policy of the limiter.
	Policy *Policy
	// Key is what the charge is counted under.
	Key string
	// Units is the cost: 0 or more. With 0 the policy takes part in the answer and is not charged.
	Units int64
}

// AllowTogether charges every policy its own key and cost, or nothing at all: 1 to [engine.MaxCharges] limits,
// in one atomic step, on a Cluster on each slot in turn ("split"). Decision.Binding names the policy whose
// limit denied, and Decision.Limits has the answer of each limit. A concurrency limit is an error: reserve
// it with the others. The errors are those of [Limiter.Allow], with the place of the charge.
func (l *Limiter) AllowTogether(ctx context.Context, charges ...Charge) (Decision, error) {
	answer := l.list(ctx, engine.OpAllow, charges)
	return answer.decision, answer.err
}

// PeekTogether answers as [Limiter.AllowTogether] would, and writes nothing.
func (l *Limiter) PeekTogether(ctx context.Context, charges ...Charge) (Decision, error) {
	answer := l.list(ctx, engine.OpPeek, charges)
	return answer.decision, answer.err
}

// ReserveTogether charges as [Limiter.AllowTogether] does, and returns a reservation with which the caller says in
// the end what it used of each charge ([Reservation.CommitEach]). Of a concurrency limit it takes a
// permit, which the settlement releases and which is lost after the lease time unless [Reservation.Renew]
// is called. Where all limits are token buckets and pacers it also reserves units that come later, as
// [Policy.Reserve] does. On a denial the reservation is nil.
//
// Of 60 requests, 10 000 tokens a minute and five calls at once, a call with an estimate of 4000 tokens
// that used 1500 leaves 59 requests, 8500 tokens and five permits.
func (l *Limiter) ReserveTogether(ctx context.Context, charges ...Charge) (*Reservation, Decision, error) {
	answer := l.list(ctx, engine.OpReserve, charges)
	return answer.reservation, answer.decision, answer.err
}

// list decides the charges together.
func (l *Limiter) list(ctx context.Context, kind engine.Kind, charges []Charge) (a reserved) {
	op := engine.Op{Kind: kind, Replicas: l.replicas}
	if kind == engine.OpReserve {
		op.ID, op.Listed, op.Ahead = rand.Text(), len(charges), longestDelay(ctx)
	}
	var policies []*Policy // of each charge of the operation
	for i, c := range charges {
		if a.err = l.checkItem(i, &c); a.err != nil {
			return a
		}
		for _, limit := range c.Policy.limits {
			one := engine.Charge{Space: c.Policy.space, Key: c.Key, Limit: limit, Cost: c.Units, Items: 1 << i}
			if at := op.Counter(&one); at >= 0 {
				op.Charges[at].Cost += c.Units
				op.Charges[at].Items |= one.Items
				continue
			}
			op.Charges, policies = append(op.Charges, one), append(policies, c.Policy)
		}
	}
	if len(op.Charges) > 0 {
		op.Space, op.Key = op.Charges[0].Space, op.Charges[0].Key
	}
	ops, results := []engine.Op{op}, make([]engine.Result, 1)
	results[0].Err = l.check(&op, 1)
	l.store.Do(ctx, ops, results)
	if l.observer != nil {
		l.observe(ctx, &op, &results[0])
	}
	if a = l.reserved(&op, &results[0], true); a.err == nil {
		a.decision.Binding.Policy = policies[a.decision.Binding.Index].name
	}
	if kind != engine.OpReserve {
		a.reservation = nil
	}
	return a
}

// checkItem checks what a charge would otherwise take from the charges before it.
func (l *Limiter) checkItem(i int, c *Charge) error {
	input := &InputError{}
	switch {
	case c.Policy == nil || c.Policy.limiter != l:
		*input = InputError{Field: "policy", Value: "not set, or of another limiter", Accepted: "a policy of this limiter"}
	case c.Key == "":
		*input = InputError{Field: "key", Value: `""`, Accepted: "1 to 1024 bytes"}
	case c.Units < 0:
		*input = InputError{Field: "cost", Value: strconv.FormatInt(c.Units, 10), Accepted: "0 or more"}
	default:
		return nil
	}
	return &engine.ItemError{Item: i, Err: input}
}

// Renew extends the permits of the reservation by their lease times: call it at a third of the shortest.
// It reports false if one is lost, and then extends none. Without permits it does nothing.
func (r *Reservation) Renew(ctx context.Context) (held bool, err error) {
	settle := r.held.Settle(0)
	op, ok := settle.Permits()
	if !ok {
		return true, nil
	}
	op.Kind = engine.OpRenew
	results := r.limiter.Do(ctx, []engine.Op{op}, nil)
	return results[0].Err == nil && results[0].Decision.Allowed, results[0].Err
}
