package engine

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// Clone returns a copy with its own charges, keys and id, for use after the caller's memory has changed.
func (o *Op) Clone() Op {
	own := *o
	own.Space, own.Key, own.ID, own.Charges = strings.Clone(o.Space), strings.Clone(o.Key), strings.Clone(o.ID), slices.Clone(o.Charges)
	for i := range own.Charges {
		own.Charges[i].Space, own.Charges[i].Key = strings.Clone(own.Charges[i].Space), strings.Clone(own.Charges[i].Key)
	}
	return own
}

// FirstItem returns the index of the first item in the caller's list that the charge covers, or 0.
func (c *Charge) FirstItem() int {
	if c.Items == 0 {
		return 0
	}
	return bits.TrailingZeros32(c.Items)
}

// Covered yields the indexes of the items in the caller's list that the charge covers, in order.
func (c *Charge) Covered() iter.Seq[int] {
	return func(yield func(int) bool) {
		for items := c.Items; items != 0; items &= items - 1 {
			if !yield(bits.TrailingZeros32(items)) {
				return
			}
		}
	}
}

// Counter returns the index of the operation's charge that has the same counter as c. It returns −1 if there is no
// such charge.
func (o *Op) Counter(c *Charge) int {
	for i := range o.Charges {
		if have := &o.Charges[i]; have.Key == c.Key && have.Space == c.Space && have.Limit.Counter() == c.Limit.Counter() {
			return i
		}
	}
	return -1
}

// Permits returns an operation that acquires the permits of a reserve, or of the reservation that a settle ends. ok is
// false if there are no permits.
func (o *Op) Permits() (acquire Op, ok bool) {
	if o.Kind != OpReserve && o.Kind != OpSettle {
		return acquire, false
	}
	for i := range o.Charges {
		c := o.Charges[i]
		if !c.Limit.Algorithm().Holds() {
			continue
		}
		if o.Kind == OpSettle {
			c.Cost = o.Reservation.Limits[i].Units
		}
		if c.Cost == 0 {
			continue
		}
		if c.Space, c.Key = o.Subject(i); !ok {
			acquire = Op{Kind: OpAcquire, Space: c.Space, Key: c.Key, ID: o.ID}
		}
		acquire.Charges, ok = append(acquire.Charges, c), true
	}
	return acquire, ok
}

// Acquires returns the acquire in an operation: the operation itself, or its [Op.Permits].
func (o *Op) Acquires() (acquire Op, ok bool) {
	if o.Kind == OpAcquire {
		return *o, true
	}
	return o.Permits()
}
