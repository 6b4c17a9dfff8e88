package engine

import "time"

// Bounds of one call. A call that exceeds them returns an [InputError].
const (
	// MaxKeyBytes is the length of the longest key.
	MaxKeyBytes = 1024
	// MaxCharges is the largest number of limits in one operation.
	MaxCharges = 32
	// MaxOps is the largest number of operations in one call.
	MaxOps = 1000
)

// Op is one operation on one or several limits. The store decides each Op in one atomic step. A slice of operations is
// not atomic.
type Op struct {
	// Kind is the kind of operation.
	Kind Kind
	// Space is the namespace of the key's state. A headgate.Limiter fills in its own if Space is empty.
	Space string
	// Key is the key of the request: any bytes, 1 to [MaxKeyBytes]. headgate.Key joins several parts.
	Key string
	// Charges are the limits and their costs, 1 to [MaxCharges].
	Charges []Charge
	// ID identifies the permit of OpAcquire, OpRenew and OpRelease, and the reservation of OpReserve and OpSettle: 1 to
	// 64 bytes, unique among holders. OpReserve needs an ID only if it has a Term, or if one of its limits is a
	// concurrency limit, because the reservation then holds permits.
	ID string
	// Handle is for OpGive: the handle of the charge to give back ([Answer.Handle]). Units whose window or segment has
	// ended in the meantime are not given back. If Handle is zero, the oldest units that are still counted are
	// given back.
	Handle time.Time
	// Share is for OpAtMost on one limit: the operation charges at most ⌊units/Share⌋ of the units that would pass, but
	// at least one unit if any passes. It is 0 to 65535; 0 and 1 charge all of them.
	Share int64
	// Ahead, for OpAtMost on one sliding log, is the time from now within which the caller can spend the units. The
	// units count from the end of that time. It is 0 to 10 s, in whole milliseconds.
	//
	// For OpReserve, Ahead is the longest delay that the caller accepts: 0 to 36525 days, in whole microseconds.
	Ahead time.Duration
	// Reservation is for OpSettle: the reservation to settle.
	Reservation *Reservation
	// Term is for OpReserve: it limits the time that the reservation is open, and determines its end if no caller
	// settles it. If Term is nil, the store does not keep the reservation: it can be settled until Reservation.Ends,
	// and stays charged if it is not settled.
	Term *Term
	// Stage is the kind of settlement. It applies to an OpSettle of a reservation with a term.
	Stage Stage
	// Listed is for OpReserve: the number of items in the caller's list, if it differs from the number of Charges.
	Listed int
	// Atomic rejects charges that the store cannot decide in one step: on a Cluster, charges on several slots cause an
	// error instead of being decided slot by slot.
	Atomic bool
	// Hints are for the layers around the store.
	Hints Hints
}

// Hints tell the layers around a store how to treat an operation. A store does not read them: they do not affect its
// answer.
type Hints struct {
	// NoShare keeps the process from answering from its share of the limits while the store is unavailable, so that the
	// operation is an error then: see package fallback.
	NoShare bool
	// Lenient accepts the store's answer even while the store is known to have lost data: see package fallback.
	Lenient bool
	// Shadow marks an operation whose answer decides nothing, because another operation decides the request.
	// Observers do not count a shadow operation as a decision.
	Shadow bool
	// Settled is for OpAllow: the caller may settle the charge, as after OpReserve ([Answer.Reservation]). Layers must
	// not decide the operation from units of their own.
	Settled bool
}

// Subject returns the namespace and the key of charge i.
func (o *Op) Subject(i int) (space, key string) {
	space, key = o.Space, o.Key
	if c := &o.Charges[i]; c.Space != "" {
		space = c.Space
	}
	if c := &o.Charges[i]; c.Key != "" {
		key = c.Key
	}
	return space, key
}

// Counted returns the namespace and the key of charge i's counter. If the limit divides its units among keys, all keys
// share one counter. Otherwise the result is the charge's subject.
func (o *Op) Counted(i int) (space, key string) {
	space, key = o.Subject(i)
	return space, o.Charges[i].Limit.Counts(space, key)
}

// Single returns an operation of the given kind on one limit of a key.
func Single(kind Kind, key string, limit Limit, units int64) Op {
	return Op{Kind: kind, Key: key, Charges: []Charge{{Limit: limit, Cost: units}}}
}
