package engine

import (
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// SettleWithin is how long a reservation can be settled at least, counted from the slot of
// its caller. A reservation whose units count for longer can be settled for as long as
// they count.
const SettleWithin = 5 * time.Minute

// Reservation is what a reserve charged: all that a settlement needs, in any process with
// the same store. The store keeps nothing of it but what was charged, and that it was
// settled, until it ends.
type Reservation struct {
	// ID identifies the reservation among those of its name space and key: 1 to 64 bytes.
	ID string
	// Space and Key are those of the reserve.
	Space, Key string
	// Ends is the instant, in µs since 1970, from which a settlement changes nothing.
	Ends int64
	// Limits is what each limit was charged.
	Limits []Reserved
}

// Reserved is what was charged to one limit.
type Reserved struct {
	// Space, where set, replaces the reservation's.
	Space string
	Limit Limit
	algo.Held
}

// Reservation returns what an allowed OpReserve reserved, under an id of the caller's.
func (o *Outcome) Reservation(op *Op, id string) *Reservation {
	r := &Reservation{ID: id, Space: op.Space, Key: op.Key, Limits: make([]Reserved, len(op.Charges))}
	for i := range op.Charges {
		c, standing := &op.Charges[i], &o.Standing
		if o.Limits != nil {
			standing = &o.Limits[i].Standing
		}
		taken := o.AtMicros + standing.After.Microseconds()
		ends := o.AtMicros + standing.ResetAfter.Microseconds()
		slot := taken + standing.Delay.Microseconds()
		r.Limits[i] = Reserved{Space: c.Space, Limit: c.Limit, Held: algo.Held{Units: c.Cost, Taken: taken, Slot: slot, Ends: ends}}
		r.Ends = max(r.Ends, ends, slot+SettleWithin.Microseconds())
	}
	return r
}

// Settle returns the operation that ends the reservation. Of each limit that was charged,
// used units were used in the end: 0 gives all of them back.
func (r *Reservation) Settle(used int64) Op {
	op := Op{Kind: OpSettle, Space: r.Space, Key: r.Key, ID: r.ID, Reservation: r, Charges: make([]Charge, len(r.Limits))}
	for i := range r.Limits {
		l := &r.Limits[i]
		op.Charges[i] = Charge{Space: l.Space, Limit: l.Limit, Cost: used}
		if l.Units == 0 {
			op.Charges[i].Cost = 0
		}
	}
	return op
}

// Delaying reports whether a reserve can have a delay: whether all of its limits can.
func (o *Op) Delaying() bool {
	for i := range o.Charges {
		if !o.Charges[i].Limit.Numbers().Delays() {
			return false
		}
	}
	return true
}

func (o *Op) checkReservation() error {
	if o.Kind == OpReserve {
		if o.Units() == 0 {
			return invalid("cost", 0, "1 or more, for reserve")
		}
		if o.Ahead < 0 || o.Ahead > longest || o.Ahead%time.Microsecond != 0 {
			return invalid("ahead", o.Ahead, "0s to 36525d, in whole microseconds")
		}
	} else if err := o.checkSettle(); err != nil {
		return err
	}
	for i := range o.Charges {
		if o.Charges[i].Key != "" && o.Charges[i].Key != o.Key {
			return invalid("key", o.Charges[i].Key, "the operation's own key for each limit, for "+o.Kind.String())
		}
	}
	return o.checkCharges(false)
}

func (o *Op) checkSettle() error {
	r := o.Reservation
	switch {
	case r == nil || len(r.Limits) != len(o.Charges):
		return invalid("reservation", remark("not set"), "what a reserve returned, for settle")
	case o.ID == "" || len(o.ID) > 64:
		return invalid("id", o.ID, "1 to 64 bytes")
	}
	for i := range r.Limits {
		if l := &r.Limits[i]; l.Limit != o.Charges[i].Limit || !l.possible() {
			return invalid("reservation", remark("of other limits or instants"), "what a reserve returned, for settle")
		}
	}
	return nil
}

// possible reports whether a reserve can have returned this: stores count exactly up to
// 2^53 µs from 1970.
func (r *Reserved) possible() bool {
	const last = 1 << 53
	return r.Units >= 0 && -last < r.Taken && r.Taken <= r.Slot && r.Taken <= r.Ends && r.Slot < last && r.Ends < last
}
