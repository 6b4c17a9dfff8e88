package engine

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Term makes the store keep a reservation while it is open, and determines what happens to it if no caller settles it
// in time.
type Term struct {
	// Within is the time for settling the reservation, counted from the reserve or from the last report: 1 ms to
	// [MaxWithin], in whole milliseconds. It includes the delay.
	Within time.Duration
	// Then determines what happens to the reservation afterwards.
	Then Unsettled
	// Estimates contains the numbers of units that [ChargeEstimate] charges, by index of the charge. If it is nil, the
	// original charges are the estimates.
	Estimates []int64
}

// MaxWithin bounds [Term].Within.
const MaxWithin = 7 * 24 * time.Hour

// Unsettled determines what happens to a reservation that was not settled in time. Units reported as used stay
// charged in any case, and permits are released.
type Unsettled uint8

// The values of Unsettled.
const (
	// KeepCharge keeps the reserved units charged.
	KeepCharge Unsettled = iota
	// ReleaseCharge gives the reserved units back.
	ReleaseCharge
	// ChargeEstimate charges the estimate, even if it exceeds the remaining units of a limit.
	ChargeEstimate
)

// Stage is the kind of settlement of an OpSettle. It is Final if the reservation has no term.
type Stage uint8

// The stages of a settlement.
const (
	// Final ends a reservation that is open.
	Final Stage = iota
	// Report records the units used so far, charges any units beyond the original charge, and restarts the term.
	Report
	// Overdue ends a reservation whose term has passed.
	Overdue
	// Undone takes back a reservation that never reached its caller. In this case a pacer takes units back even after
	// the slot.
	Undone
)

// Keeper is a store that keeps open reservations: reservations with a term that have not been settled. The stores of
// packages memstore and redisstore implement it. A Keeper does not settle reservations by itself: the caller of Due
// runs the operations from Overdue.
type Keeper interface {
	// Due returns up to [MaxDue] overdue reservations; there may be more. On Redis, a reservation that has not been ended
	// is returned again after ten seconds. On a Cluster without shards one call covers only some of the slots, and
	// 30 calls cover all of them.
	Due(ctx context.Context) ([]*Reservation, error)
	// OpenOf returns the open reservations that charged a key in any namespace. The argument most is the maximum
	// number of reservations returned. On a Cluster, OpenOf finds reservations on fair-share limits only if the
	// argument under contains the keys that these limits count the key under: see [Limit.Counts].
	OpenOf(ctx context.Context, key string, most int, under ...string) ([]*Reservation, error)
	// OpenCount returns the number of open reservations. On a Cluster without shards it counts a reservation once for
	// each slot that it charged.
	OpenCount(ctx context.Context) (int64, error)
}

// KeeperOf returns the first of the store and the stores it wraps that keeps open reservations. It returns nil if none
// does.
func KeeperOf(store Store) Keeper {
	for layer := range Layers(store) {
		if keeper, ok := layer.(Keeper); ok {
			return keeper
		}
	}
	return nil
}

const (
	// MaxOpen is the largest number of open reservations in a store or, on a Cluster, in a shard or slot. A reserve
	// that would exceed it returns an error.
	MaxOpen = 1_000_000
	// MaxDue is the largest number of reservations returned by one call of [Keeper].Due.
	MaxDue = 1000
)

// Overdue returns the operation that ends the reservation after its term.
func (r *Reservation) Overdue() Op {
	op := r.Settle(0)
	op.Stage = Overdue
	for i := range op.Charges {
		l := &r.Limits[i]
		switch {
		case l.Limit.Algorithm().Holds() || l.Units == 0: // a limit of another choice was not charged
		case r.Term.Then == KeepCharge:
			op.Charges[i].Cost = l.Units
		case r.Term.Then == ChargeEstimate:
			op.Charges[i].Cost = r.Term.estimate(i, l.Units)
		}
	}
	return op
}

// Charged reports whether the reservation charged a key.
func (r *Reservation) Charged(key string) bool {
	return slices.ContainsFunc(r.Limits, func(l Reserved) bool { return cmp.Or(l.Key, r.Key) == key })
}

// Shorter returns the shorter of two terms. A nil term is longer than any other.
func (t *Term) Shorter(other *Term) *Term {
	if t == nil || other != nil && other.Within < t.Within {
		return other
	}
	return t
}

// SetTerm sets the term of a reserve operation. The term also bounds the delay. If t is nil, there is no term.
func (o *Op) SetTerm(t *Term) {
	if o.Term = t; t != nil {
		o.Ahead = min(o.Ahead, t.Within)
	}
}

// estimate returns the estimate for the limit at index i. It returns the given units if the term contains no estimates.
func (t *Term) estimate(i int, units int64) int64 {
	if i < len(t.Estimates) {
		return t.Estimates[i]
	}
	return units
}

var unsettledWords = [...]string{"keep", "release", "estimate"}

// String returns the word used in policy files: keep, release or estimate.
func (u Unsettled) String() string { return unsettledWords[min(int(u), len(unsettledWords)-1)] }

// ParseUnsettled parses a word that String returns. ok is false for other words.
func ParseUnsettled(word string) (u Unsettled, ok bool) {
	at := slices.Index(unsettledWords[:], word)
	return Unsettled(max(0, at)), at >= 0
}

// Check returns an [*InputError] for a term out of range.
func (t *Term) Check() error { return t.check(len(t.Estimates)) }

// check returns an [*InputError] for a term out of range, or if Estimates has another length than the operation's charges.
func (t *Term) check(charges int) error {
	switch {
	case t.Within < time.Millisecond || t.Within > MaxWithin || t.Within%time.Millisecond != 0:
		return invalid("settle_within", t.Within, "whole milliseconds, 1ms to 168h")
	case t.Then > ChargeEstimate:
		return invalid("unsettled", uint8(t.Then), "keep, release or estimate")
	case t.Estimates != nil && len(t.Estimates) != charges:
		return invalid("estimates", len(t.Estimates), "one for each limit")
	}
	for _, n := range t.Estimates {
		if n < 0 {
			return invalid("estimate", n, "0 or more")
		}
	}
	return nil
}
