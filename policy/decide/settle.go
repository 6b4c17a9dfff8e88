package decide

import (
	"fmt"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// settle appends the operation that settles a reservation.
func (b *Batch) settle(at *plan) error {
	r := at.request
	held, err := b.open(r.Reservation)
	if err != nil {
		return err
	}
	at.cost = r.cost(1)
	op := held.Settle(at.cost)
	if r.Used != nil {
		if len(r.Used) != held.Items() {
			return &engine.InputError{Field: "actual", Value: fmt.Sprint(len(r.Used), " numbers"), Accepted: fmt.Sprintf("one number, or one for each of the %d charges that were reserved", held.Items())}
		}
		op = held.SettleEach(func(item int) int64 { return r.Used[item] })
	}
	if err := checkUsed(held, r.Used, at.cost); err != nil {
		return err
	}
	if r.Reports {
		switch {
		case held.Term == nil && held.Process != "": // a share made it in an outage, and gives no term: nothing changes
			op = nothing(held)
			b.reserved(at, &op)
			return nil
		case held.Term == nil:
			return &engine.InputError{Field: "reservation", Value: "without a term", Accepted: "one of a policy with settle_within, for what was used so far"}
		}
		op.Stage = engine.Report
	}
	b.reserved(at, &op)
	return nil
}

// checkUsed returns an error for units of a charge that has charged none, because a settlement cannot charge any there.
// The numbers are one for each charge of the request or, if used is nil, one for all of them.
func checkUsed(held *engine.Reservation, used []int64, one int64) error {
	charged := false
	for item := range held.Items() {
		uncharged := held.Uncharged(item)
		charged = charged || !uncharged
		if used != nil && used[item] > 0 && uncharged {
			return unreserved(fmt.Sprint("actual.", item), used[item])
		}
	}
	if used == nil && one > 0 && !charged {
		return unreserved("actual", one)
	}
	return nil
}

func unreserved(field string, units int64) error {
	return engine.InvalidInput(field, strconv.FormatInt(units, 10), "0, because no units were reserved")
}

// renew appends the operations that renew the permits of a reservation and restart its term. A reservation with neither
// permits nor a term counts as held.
func (b *Batch) renew(at *plan) error {
	held, err := b.open(at.request.Reservation)
	if err != nil {
		return err
	}
	settle := held.Settle(0)
	permits, ok := settle.Permits()
	switch {
	case held.Term != nil && !ok:
		settle.Stage = engine.Report
		b.reserved(at, &settle)
		return nil
	case held.Term != nil:
		settle.Stage = engine.Report
		b.Ops, at.reports = append(b.Ops, settle), true
	case !ok:
		permits = nothing(held)
		b.reserved(at, &permits)
		return nil
	}
	permits.Kind = engine.OpRenew
	b.reserved(at, &permits)
	return nil
}

// nothing returns an operation that leaves a reservation as it is, and is allowed.
func nothing(held *engine.Reservation) engine.Op {
	return engine.Op{Kind: engine.OpPeek, Space: held.Space, Key: held.Key, Charges: []engine.Charge{{Limit: engine.NoLimit()}}}
}

// reserved appends the deciding operation on a reservation.
func (b *Batch) reserved(at *plan, op *engine.Op) {
	b.gathered = b.gathered[:0]
	for _, c := range op.Charges {
		b.gathered = append(b.gathered, policy.Inline(c))
	}
	at.SetCharges(b.gathered...)
	at.op = len(b.Ops)
	b.Ops = append(b.Ops, *op)
}

func (b *Batch) open(text string) (*engine.Reservation, error) {
	if b.seal != nil {
		return b.seal.Open(text)
	}
	return engine.ParseReservation(text)
}

// textOf returns the text that identifies a reservation when it is settled.
func (b *Batch) textOf(held *engine.Reservation) string {
	if b.seal != nil {
		return b.seal.Sign(held.String())
	}
	return held.String()
}
