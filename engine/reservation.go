package engine

import (
	"crypto/rand"
	"iter"
	"math/bits"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// SettleWithin and SettleAtMost are the minimum and the maximum time for settling a reservation without a Term, counted
// from its caller's slot. Between them, it can be settled as long as its units are counted. The store keeps a mark of
// each settled reservation until then: without a maximum, a month's window would keep every settlement of the month. A
// permit in the reservation can be released until its lease ends.
const (
	SettleWithin = 5 * time.Minute
	SettleAtMost = time.Hour
)

// Reservation is the charge of a reserve operation, with everything that any process on the same store needs to settle
// it. Without a Term, the store keeps only the charge and, until the reservation ends, whether it was settled.
type Reservation struct {
	// ID identifies the reservation within its namespace and key: 1 to 64 bytes. It also identifies the holder of the
	// permits.
	ID string
	// Space and Key come from the reserve operation and apply to its first charge.
	Space, Key string
	// Ends is the instant, in µs since 1970, from which a settlement has no effect.
	Ends int64
	// Term is the term of the reserve, or nil if the reserve has no term. Due is the instant, in µs since 1970, until
	// which the reservation can be settled or reported on. The store keeps the reservation until Due, and a report
	// postpones Due.
	Term *Term
	Due  int64
	// Limits contains the charges, one for each limit.
	Limits []Reserved
	// Listed is the number of items in the caller's list. If it is 0, the list has one item for each charge in Limits.
	Listed int
	// Process names the process whose shares of the limits were charged, because the store was unavailable or had lost
	// data. No other process can settle these charges. It is empty if only the store was charged. See package fallback.
	Process string
	// Shares contains the charges to shares, in addition to the store's charges in Limits. It is empty if the store was
	// not charged. In that case Limits contains the charges to the shares.
	Shares []Reserved
}

// Reserved is the charge to one limit.
type Reserved struct {
	// Space and Key, if set, replace the reservation's.
	Space, Key string
	// Items has the same meaning as in [Charge]. Several entries of Reservation.Shares can belong to the same charge.
	Items uint32
	Limit Limit
	algo.Held
}

// Reservation returns the reservation of an allowed OpReserve, with an id that the caller chooses. It shares no memory
// with the operation except the term.
func (a *Answer) Reservation(op *Op, id string) *Reservation {
	if a.ByShares != nil {
		r := *a.ByShares
		r.ID, r.Listed = id, op.Listed
		return &r
	}
	r := op.Reserving(id)
	for i := range op.Charges {
		standing, at := a.Of(i), a.at(i)
		chargedAt := at + standing.After.Microseconds()
		ends := at + standing.ResetAfter.Microseconds()
		slot := chargedAt + standing.Delay.Microseconds()
		l := &r.Limits[i]
		l.At, l.Slot, l.Ends = chargedAt, slot, ends
		if standing.Unchosen {
			l.Units = 0
		}
		counted := max(ends, slot+SettleWithin.Microseconds())
		if !l.Limit.Algorithm().Holds() {
			counted = min(counted, slot+SettleAtMost.Microseconds())
		}
		r.Ends = max(r.Ends, counted)
	}
	if r.Term != nil {
		r.Due = a.AtMicros + r.Term.Within.Microseconds()
		r.Ends = r.Due
	}
	return r
}

// Reserving returns the reservation for a reserve operation that has not been decided, without instants. It shares no
// memory with the operation except the term.
func (o *Op) Reserving(id string) *Reservation {
	r := &Reservation{
		ID: strings.Clone(id), Listed: o.Listed, Space: strings.Clone(o.Space), Key: strings.Clone(o.Key),
		Term: o.Term, Limits: make([]Reserved, len(o.Charges)),
	}
	for i := range o.Charges {
		c := &o.Charges[i]
		r.Limits[i] = Reserved{
			Space: strings.Clone(c.Space), Key: strings.Clone(c.Key), Items: c.Items, Limit: c.Limit,
			Held: algo.Held{Units: c.Cost},
		}
	}
	return r
}

// Settle returns the operation that ends the reservation with the given number of used units for each charged limit. If
// the number is 0, all units are given back. Permits are given back in any case.
func (r *Reservation) Settle(used int64) Op {
	return r.settle(func(uint32) int64 { return used })
}

// Items returns the number of items in the caller's list.
func (r *Reservation) Items() int {
	if r.Listed > 0 {
		return r.Listed
	}
	return len(r.Limits)
}

// Uncharged reports whether an item of the caller's list, by index, has limits and charged none of them. A settlement
// cannot charge them either.
func (r *Reservation) Uncharged(item int) (found bool) {
	for i := range r.Limits {
		l := &r.Limits[i]
		switch {
		case l.items(i)>>item&1 == 0:
		case l.Units > 0:
			return false
		default:
			found = true
		}
	}
	return found
}

// items returns the bit set of the items that the limit at index i covers.
func (r *Reserved) items(i int) uint32 {
	if r.Items == 0 {
		return 1 << i
	}
	return r.Items
}

// SettleEach is like Settle, with a separate number of used units for each item of the list, by index.
func (r *Reservation) SettleEach(used func(item int) int64) Op {
	return r.settle(func(items uint32) (sum int64) {
		for ; items != 0; items &= items - 1 {
			sum = Sum(sum, used(bits.TrailingZeros32(items)))
		}
		return sum
	})
}

// settle is like Settle, with the used units computed from the items of each limit.
func (r *Reservation) settle(used func(items uint32) int64) Op {
	op := Op{Kind: OpSettle, Space: r.Space, Key: r.Key, ID: r.ID, Reservation: r, Charges: make([]Charge, len(r.Limits))}
	for i := range r.Limits {
		l := &r.Limits[i]
		op.Charges[i] = Charge{Space: l.Space, Key: l.Key, Limit: l.Limit, Items: l.items(i)}
		if l.Units > 0 && !l.Limit.Algorithm().Holds() {
			op.Charges[i].Cost = used(l.items(i))
		}
	}
	return op
}

// Undo yields, by index of the charge, the operations that give back a charge that was not reported to its caller,
// because another limit denied the operation or because the answer came too late. On each limit, kept units stay
// charged. Except for permits, the operations are settlements. They therefore give back neither units that have already
// refilled nor a pacer's slot that other callers depend on (docs/design/rules.md, section 9). Each charge is settled
// separately, because the states can be ahead of the clock by different times. The settlements have an effect only
// within the given time, so their marks soon expire. For a reserve with a term, Undo yields one settlement of all
// charges, with index 0.
func (a *Answer) Undo(op *Op, kept int64, within time.Duration) iter.Seq2[int, Op] {
	return func(yield func(int, Op) bool) {
		if op.Kind == OpReserve && op.Term != nil { // the store keeps the reservation open
			undo := a.Reservation(op, op.ID).Settle(kept)
			undo.Stage = Undone
			yield(0, undo)
			return
		}
		for i, charge := range op.Charges {
			if op.Kind == OpAtMost {
				charge.Cost = min(charge.Cost, a.Granted)
			}
			if charge.Cost <= kept || a.Of(i).Unchosen {
				continue
			}
			undo := a.undo(op, i, charge, within).Settle(kept)
			if charge.Limit.Algorithm().Holds() {
				undo = Op{Kind: OpRelease, Space: undo.Space, Key: undo.Key, ID: op.ID, Charges: undo.Charges}
			}
			if !yield(i, undo) {
				return
			}
		}
	}
}

func (a *Answer) undo(op *Op, i int, charge Charge, within time.Duration) *Reservation {
	one := Op{Charges: []Charge{{Limit: charge.Limit, Cost: charge.Cost}}}
	one.Space, one.Key = op.Subject(i)
	own := Answer{AtMicros: a.at(i), first: *a.Of(i)}
	r := own.Reservation(&one, "undo-"+rand.Text())
	// A pacer gives units back only before its caller's slot. This caller never received its slot.
	r.Limits[0].Slot = max(r.Limits[0].Slot, r.Limits[0].Held.Ends)
	r.Ends = a.AtMicros + within.Microseconds()
	return r
}

// Delaying reports whether the operation can return a delay: all of its limits must support this, and it must have no
// choices.
func (o *Op) Delaying() bool {
	for i := range o.Charges {
		if !o.Charges[i].Limit.Numbers().Delays() || o.Charges[i].Choice != 0 {
			return false
		}
	}
	return true
}

func (o *Op) checkReservation() error {
	if o.Kind == OpReserve {
		if o.Units() == 0 {
			lowest := int64(0)
			for i := range o.Charges {
				lowest = min(lowest, o.Charges[i].Cost)
			}
			if lowest == 0 && o.Listed > 0 {
				return invalid("cost", remark("0 in every charge"), "1 or more in at least one charge, for reserve")
			}
			return invalid("cost", lowest, "1 or more, for reserve")
		}
		if len(o.ID) > maxID || o.ID == "" && o.Term != nil {
			return invalid("id", o.ID, "1 to 64 bytes")
		}
		if o.Term != nil {
			if err := o.Term.check(len(o.Charges)); err != nil {
				return err
			}
		}
		if o.Ahead < 0 || o.Ahead > longest || o.Ahead%time.Microsecond != 0 {
			return invalid("ahead", o.Ahead, "0s to 36525d, in whole microseconds")
		}
	} else if err := o.checkSettle(); err != nil {
		return err
	}
	return o.checkCharges(false)
}

func (o *Op) checkSettle() error {
	r := o.Reservation
	switch {
	case r == nil || len(r.Limits) != len(o.Charges):
		return invalid("reservation", remark("not set"), "what a reserve returned, for settle")
	case o.ID == "" || len(o.ID) > maxID:
		return invalid("id", o.ID, "1 to 64 bytes")
	case o.Stage > Undone || o.Stage != Final && r.Term == nil:
		return invalid("reservation", remark("without a term"), "one with settle_within, for a report")
	}
	if r.Term != nil {
		if err := r.Term.check(len(r.Limits)); err != nil {
			return err
		}
	}
	possible := len(r.Process) <= maxProcess && len(r.Shares) <= maxShares && (r.Process != "" || len(r.Shares) == 0)
	for i := range r.Limits {
		l := &r.Limits[i]
		possible = possible && l.Limit == o.Charges[i].Limit && l.Key == o.Charges[i].Key && l.possible()
	}
	for i := range r.Shares {
		possible = possible && r.Shares[i].Limit.of().err == nil && r.Shares[i].possible()
	}
	if !possible {
		return invalid("reservation", remark("of other limits or instants"), "what a reserve returned, for settle")
	}
	return nil
}

// Bounds on a reservation's charges to shares.
const (
	maxProcess = 256 // bytes of a name
	maxShares  = MaxCharges * algo.MaxWindows
)

// possible reports whether a reserve operation can have returned this charge. Stores count exactly up to 2^53 µs from
// 1970.
func (r *Reserved) possible() bool {
	const last = 1 << 53
	return r.Units >= 0 && -last < r.At && r.At <= r.Slot && r.At <= r.Ends && r.Slot < last && r.Ends < last
}
