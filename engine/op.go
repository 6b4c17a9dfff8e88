package engine

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Kind is the kind of an Op. Stores' scripts receive these numbers, so new kinds must be added at the end.
type Kind uint8

// The kinds of operation.
const (
	// OpAllow charges each limit its cost, or charges nothing. It is the zero value.
	OpAllow Kind = iota
	// OpAtMost charges as many units as pass now, up to the cost.
	OpAtMost
	// OpPeek returns the answer of an OpAllow but writes nothing.
	OpPeek
	// OpGive gives the cost back to every limit.
	OpGive
	// OpReset deletes the state; Answer.Found reports whether there was any.
	OpReset
	// OpExpiry sets Answer.Found if there is a state, and Answer.TTL to its remaining lifetime. The limit's parameters
	// have no effect.
	OpExpiry
	// OpAcquire takes a permit of a concurrency limit for the holder Op.ID.
	OpAcquire
	// OpRenew extends the permit of Op.ID. A denial means that the permit is lost.
	OpRenew
	// OpRelease gives the permit of Op.ID back; Answer.Found reports whether there was one.
	OpRelease
	// OpCount charges the whole cost to a fixed window, even beyond the limit, like the counters of Envoy's rate limit
	// service. It is denied if the count now exceeds the limit. A window counts up to 2^48−1 units. Answer.Granted is
	// the number of units that were within the limit.
	OpCount
	// OpReserve charges like OpAllow, but a token bucket or pacer also grants units that refill later: see
	// [algo.Reserve]. For a concurrency limit, it acquires a permit. [Answer.Reservation] returns the reservation.
	OpReserve
	// OpSettle settles Op.Reservation ([algo.Settle]) and ends it, unless [Op].Stage is Report. The charges use the
	// reservation's limits, with the used units as costs (0 for a permit). Answer.Found reports whether this operation
	// settled the reservation. If the reservation has ended or was settled before, Found is false and nothing changes.
	OpSettle

	// Kinds is the number of kinds.
	Kinds
)

var kindNames = [...]string{
	"allow", "at most", "peek", "give", "reset", "expiry", "acquire", "renew", "release", "count", "reserve", "settle",
}

// String returns the kind's name, such as "allow".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Takes reports whether operations of the kind either take units or are denied: allow, at most, acquire, count and
// reserve.
func (k Kind) Takes() bool {
	return k == OpAllow || k == OpAtMost || k == OpAcquire || k == OpCount || k == OpReserve
}

// Reports reports whether operations of the kind can carry outcomes of earlier requests ([Charge].Report).
func (k Kind) Reports() bool { return k == OpAllow || k == OpAtMost || k == OpReserve }

// Bounds of one call. A call that exceeds them returns an [InputError].
const (
	// MaxKeyBytes is the length of the longest key.
	MaxKeyBytes = 1024
	// MaxCharges is the largest number of limits in one operation.
	MaxCharges = 32
	// MaxOps is the largest number of operations in one call.
	MaxOps = 1000
)

const (
	maxShare = 1<<16 - 1
	maxID    = 64 // bytes
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

// TooManyOps returns the error for a call with more than [MaxOps] operations.
func TooManyOps(ops int) error { return invalid("operations", ops, "1 to 1000 in one call") }

// CheckCharges returns an error for a list of charges that is empty or has more than [MaxCharges], for which
// [Charge].Items has no bits.
func CheckCharges(charges int) error {
	if charges < 1 || charges > MaxCharges {
		return invalid("charges", charges, "1 to 32 in one request")
	}
	return nil
}

// maxAhead bounds [Op].Ahead.
const maxAhead = 10 * time.Second

// Charge is one limit of an operation, and its cost.
type Charge struct {
	// Limit is the limit that decides.
	Limit Limit
	// Cost is the number of units to charge: 0 or more. If it is 0, the limit is included in the answer but is not
	// charged.
	Cost int64
	// Report contains the outcomes of earlier requests, for a limit whose rate adapts ([algo.Algorithm.Adapts]). For
	// other limits it is nil. OpAllow, OpAtMost and OpReserve use it. It counts even if the request is denied or costs
	// nothing.
	Report *algo.Report
	// Choice is 0 for a limit that always takes part. Limits of choices 1, 2, … are alternatives: the operation charges
	// the limits of choice 0, and the limits of the first choice with enough units ([Answer.Choice]). Only allow, peek,
	// reserve, reset and expiry support choices, in one step of one store. Concurrency limits and limits that count
	// denials cannot belong to a choice.
	Choice uint8
	// Space and Key, if set, replace the operation's. For example, one request can count against its user and against
	// the whole service.
	Space, Key string
	// Items is a bit set of the items in the caller's list that the charge covers: items on the same counter become one
	// charge. 0 means only the item at the charge's own index.
	Items uint32
}

// LeaseOf returns the lease time of a permit with the given charges: the shortest of their limits.
func LeaseOf(charges []Charge) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for i := range charges {
		shortest = min(shortest, Micros(charges[i].Limit.Numbers().Period))
	}
	return shortest
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

// Check returns an [*InputError] if no store can decide the operation. If the charge at fault comes from a caller's
// list, an [*ItemError] contains it.
func (o *Op) Check() error {
	if len(o.Charges) < 1 || len(o.Charges) > MaxCharges {
		return invalid("limits", len(o.Charges), "1 to 32")
	}
	lease := o.Kind >= OpAcquire && o.Kind <= OpRelease
	if lease && (o.ID == "" || len(o.ID) > maxID) {
		return invalid("id", o.ID, "1 to 64 bytes")
	}
	if o.Share < 0 || o.Share > maxShare || o.Share > 1 && (o.Kind != OpAtMost || len(o.Charges) > 1) {
		return invalid("share", o.Share, "0 to 65535, for at most on one limit")
	}
	if o.Kind == OpReserve || o.Kind == OpSettle {
		return o.checkReservation()
	}
	if o.Ahead != 0 && (o.Kind != OpAtMost || len(o.Charges) > 1 || !o.Charges[0].Limit.Algorithm().KeepsTimes() ||
		o.Ahead < 0 || o.Ahead > maxAhead || o.Ahead%time.Millisecond != 0) {
		return invalid("ahead", o.Ahead, "whole milliseconds up to 10s, for at most on one sliding log")
	}
	if o.Kind == OpCount && (len(o.Charges) > 1 || !o.Charges[0].Limit.Algorithm().CountsHits()) {
		return invalid("limit", remark(o.Charges[0].Limit.Algorithm().String()), "one fixed window, for count")
	}
	if o.Kind >= Kinds {
		return invalid("kind", o.Kind, strings.Join(kindNames[:], ", "))
	}
	return o.checkCharges(lease)
}

func (o *Op) checkCharges(lease bool) error {
	for i := range o.Charges {
		if err := o.checkCharge(i, lease); err != nil {
			return o.ofItem(i, err)
		}
	}
	return nil
}

// ofItem adds the index of the item in the caller's list to an error about a charge.
func (o *Op) ofItem(i int, err error) error {
	if c := &o.Charges[i]; c.Items != 0 {
		return &ItemError{Item: c.FirstItem(), Err: err}
	}
	return err
}

// AtomicError returns the error for an Atomic operation whose charge i is in a different slot than the first charge.
func (o *Op) AtomicError(i int) error {
	_, key := o.Subject(i)
	return o.ofItem(i, invalid("key", key, "with atomic, keys on one slot of the Cluster: the same text in braces, as in {acme}:ann and {acme}:bob"))
}

func (o *Op) checkCharge(i int, lease bool) error {
	c := &o.Charges[i]
	limit := c.Limit.of()
	_, key := o.Subject(i)
	switch {
	case key == "":
		return invalid("key", "", "1 to 1024 bytes")
	case len(key) > MaxKeyBytes:
		return invalid("key", remark(strconv.Itoa(len(key))+" bytes"), "1 to 1024 bytes")
	case limit.err != nil:
		return limit.err
	case o.Kind == OpAcquire && c.Cost < 1:
		return invalid("cost", c.Cost, "1 or more, for acquire")
	case c.Cost < 0:
		return invalid("cost", c.Cost, "0 or more")
	case o.Kind == OpAtMost && c.Cost > 0 && c.Cost != o.most():
		return invalid("cost", c.Cost, "one cost for all limits of at most")
	case lease && !limit.numbers.Algorithm.Holds():
		return invalid("limit", remark(c.Limit.Algorithm().String()), "concurrency, for "+o.Kind.String())
	case (c.Choice != 0 || limit.numbers.CountDenied && o.Chosen()) && !o.chooses(&limit.numbers, c.Choice):
		return invalid("first", remark(c.Limit.String()+", with "+o.Kind.String()), "limits that neither hold units nor count denials, with allow, peek or reserve")
	case c.Report != nil && !o.canReport(c):
		return invalid("report", remark(o.Kind.String()+" of "+limit.numbers.Algorithm.String()), reportAccepted)
	case (o.Kind <= OpGive && o.Kind != OpPeek || o.Kind == OpReserve && o.ID == "") && limit.numbers.Algorithm.Holds():
		return invalid("limit", remark(c.Limit.Algorithm().String()), "acquire and release on a concurrency limit, not "+o.Kind.String())
	}
	return o.checkTwice(i)
}

// chooses reports whether the limit may belong to one of the operation's choices.
func (o *Op) chooses(l *algo.Limit, choice uint8) bool {
	switch o.Kind {
	case OpAllow, OpPeek, OpReserve, OpReset, OpExpiry:
		return choice <= MaxCharges && !l.Algorithm.Holds() && !l.CountDenied
	case OpCount:
		return len(o.Charges) == 1
	default:
		return false
	}
}

const reportAccepted = "for allow, at most or reserve of an adaptive-rate: 0 to 1048576 good and bad, and a pause of 0s to 366d"

// canReport reports whether the operation can include the outcomes in the charge's Report.
func (o *Op) canReport(c *Charge) bool {
	r := c.Report
	return o.Kind.Reports() && c.Limit.Algorithm().Adapts() && min(r.Good, r.Bad, r.Pause) >= 0 &&
		max(r.Good, r.Bad) <= algo.MaxReported && r.Pause <= algo.MaxReportedPause
}

// Chosen reports whether any of the operation's charges belongs to a choice.
func (o *Op) Chosen() bool {
	for i := range o.Charges {
		if o.Charges[i].Choice != 0 {
			return true
		}
	}
	return false
}

// checkTwice returns an error if an earlier charge uses the same counter. It also returns one for two charges without
// their own keys that share a name, even if different windows would give them different counters.
func (o *Op) checkTwice(i int) error {
	if i == 0 {
		return nil
	}
	c := &o.Charges[i]
	space, key := o.Counted(i)
	for j := range o.Charges[:i] {
		other := &o.Charges[j]
		otherSpace, otherKey := o.Counted(j)
		if !c.Limit.of().counts() || otherKey != key || otherSpace != space {
			continue
		}
		one, two := c.Limit.Counter(), other.Limit.Counter()
		if c.Key == "" {
			one.Grid, two.Grid = algo.Grid{}, algo.Grid{}
		}
		if one != two {
			continue
		}
		_, subject := o.Subject(i)
		if _, otherSubject := o.Subject(j); subject != otherSubject {
			return invalid("limits", remark(c.Limit.Algorithm().String()+" "+c.Limit.Name()+" of two keys"),
				"one key of a limit that divides its units among keys in a request, because its keys share a counter")
		}
		return invalid("limits", remark(c.Limit.Algorithm().String()+" "+c.Limit.Name()+" twice"),
			"different names or policies, or one charge with the cost of both")
	}
	return nil
}

// most returns the cost of an OpAtMost: the first cost that is not 0.
func (o *Op) most() int64 {
	for i := range o.Charges {
		if o.Charges[i].Cost > 0 {
			return o.Charges[i].Cost
		}
	}
	return 0
}

// Every store handles an operation the same way: it creates the steps, fills in the states, decides, and reads the
// outcome from the steps ([Answer.Fill]).

// Step returns the step for the operation's charge at index i, without a state. The store sets [algo.Step].KeyHash.
func (o *Op) Step(i int) algo.Step {
	c := &o.Charges[i]
	s := algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Report: c.Report, Choice: c.Choice, Share: o.Share, Ahead: o.Ahead.Microseconds()}
	switch o.Kind {
	case OpReserve:
		s.Holder = o.ID
	case OpGive:
		if !o.Handle.IsZero() {
			s.Held = &algo.Held{At: o.Handle.UnixMicro()}
		}
	case OpSettle:
		s.Held, s.Holder = &o.Reservation.Limits[i].Held, o.ID
	}
	return s
}

// Units returns the operation's largest cost, in units.
func (o *Op) Units() (units int64) {
	for i := range o.Charges {
		units = max(units, o.Charges[i].Cost)
	}
	return units
}

// Decide runs the operation on its steps, which contain the states. It reports whether the operation passes, and how
// many units it charged. It is for allow, at most, peek, give, count, reserve, acquire and renew. The other kinds need
// no decision.
func (o *Op) Decide(steps []algo.Step, now algo.Instant) (allowed bool, granted int64) {
	allowed = true
	switch o.Kind {
	case OpAllow:
		allowed = algo.Allow(steps, now)
	case OpAtMost:
		granted = algo.AtMost(steps, now)
		return granted > 0 || o.Units() == 0, granted
	case OpPeek:
		return algo.Peek(steps, now), 0
	case OpCount:
		return algo.Count(&steps[0], now)
	case OpGive:
		algo.Give(steps, now)
		return true, 0
	case OpReserve:
		allowed = algo.Reserve(steps, now, o.Ahead.Microseconds())
	case OpAcquire:
		allowed = algo.Acquire(steps, now, strings.Clone(o.ID)) // the state retains the id
	case OpRenew:
		return algo.Renew(steps, now, strings.Clone(o.ID)), 0
	}
	if allowed {
		granted = o.Granted(steps)
	}
	return allowed, granted
}

// Adapts reports whether one of the limits has a rate that adapts to reported outcomes.
func (o *Op) Adapts() bool {
	for i := range o.Charges {
		if o.Charges[i].Limit.Algorithm().Adapts() {
			return true
		}
	}
	return false
}

// Granted returns the number of units charged by an operation that is allowed in full: the largest cost of its steps
// that are not marked Unchosen.
func (o *Op) Granted(steps []algo.Step) (units int64) {
	for i := range o.Charges {
		if !steps[i].Outcome.Unchosen {
			units = max(units, o.Charges[i].Cost)
		}
	}
	return units
}
