package engine

import (
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

// Kind is what an Op does.
type Kind uint8

// The kinds of operation.
const (
	// OpAllow charges every limit its cost, or none (the zero value).
	OpAllow Kind = iota
	// OpAtMost takes as many units as pass now, up to the cost.
	OpAtMost
	// OpPeek answers as OpAllow would and writes nothing.
	OpPeek
	// OpGive returns the cost to every limit.
	OpGive
	// OpReset forgets the state; Result.Found says whether there was any.
	OpReset
	// OpExpiry answers in Result.Found whether there is a state and in
	// Result.TTL how long it lasts, whatever the limit's numbers.
	OpExpiry
	// OpAcquire takes leases of a concurrency limit under Op.ID.
	OpAcquire
	// OpRenew extends the leases of Op.ID; refused means lost.
	OpRenew
	// OpRelease gives the leases of Op.ID back; Result.Found says whether
	// there were any.
	OpRelease
)

var kindNames = [...]string{"allow", "at most", "peek", "give", "reset", "expiry", "acquire", "renew", "release"}

// String returns the verb.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// What one call may hold. More is an [InputError].
const (
	// MaxKeyBytes is the length of the longest key.
	MaxKeyBytes = 1024
	// MaxCharges is how many limits one operation may have.
	MaxCharges = 32
	// MaxOps is how many operations one call may have.
	MaxOps = 1000
)

const maxShare = 1<<16 - 1

// Op is one operation on one or several limits: decided as a whole, in one
// atomic step. A slice of them is not atomic.
type Op struct {
	// Kind is what to do.
	Kind Kind
	// Space is the name space of the key's state. A [Limiter] fills in its own
	// where it is empty.
	Space string
	// Key is who: any bytes, 1 to [MaxKeyBytes]. [Key] joins several parts.
	Key string
	// Charges are the limits and what each is charged, 1 to [MaxCharges].
	Charges []Charge
	// ID identifies the lease of OpAcquire, OpRenew and OpRelease: 1 to 64
	// bytes, unique among holders.
	ID string
	// Taken is for OpGive: the [Decision.Taken] of the charge that is given back.
	// What has gone since with its window or segment is then not given back
	// again. Zero gives back the oldest units that still count.
	Taken time.Time
	// Share is for OpAtMost on one limit: of the units that would pass, it
	// takes ⌊units/Share⌋ at most, though one if one passes. 0 to 65535; 0 and 1
	// take all.
	Share int64
	// Ahead is for OpAtMost on one sliding log: the units can be spent until so
	// long after now, and count from then on. Whole milliseconds, 0 to 10 s.
	Ahead time.Duration
}

// TooManyOps returns the error of a call with more than [MaxOps] operations.
func TooManyOps(ops int) error { return invalid("operations", ops, "1 to 1000 in one call") }

// maxAhead is how far ahead units are entered at most.
const maxAhead = 10 * time.Second

// Charge is one limit of an operation.
type Charge struct {
	// Limit is how much.
	Limit Limit
	// Cost is the units it is charged: 0 or more; 0 takes part without being
	// charged.
	Cost int64
	// Space and Key, where set, replace the operation's: a request can count
	// against its user and against the whole service at once.
	Space, Key string
}

// Subject returns the space and key of one of the operation's charges.
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

// Single returns the operation of a kind on one limit of a key.
func Single(kind Kind, key string, limit Limit, units int64) Op {
	return Op{Kind: kind, Key: key, Charges: []Charge{{Limit: limit, Cost: units}}}
}

// Check returns an [*InputError] where no store could decide the operation.
func (o *Op) Check() error {
	if len(o.Charges) < 1 || len(o.Charges) > MaxCharges {
		return invalid("limits", len(o.Charges), "1 to 32")
	}
	lease := o.Kind >= OpAcquire && o.Kind <= OpRelease
	if lease && (o.ID == "" || len(o.ID) > 64) {
		return invalid("id", o.ID, "1 to 64 bytes")
	}
	if o.Share < 0 || o.Share > maxShare || o.Share > 1 && (o.Kind != OpAtMost || len(o.Charges) > 1) {
		return invalid("share", o.Share, "0 to 65535, for at most on one limit")
	}
	if o.Ahead != 0 && (o.Kind != OpAtMost || len(o.Charges) > 1 || o.Charges[0].Limit.Algorithm() != algo.SlidingLog ||
		o.Ahead < 0 || o.Ahead > maxAhead || o.Ahead%time.Millisecond != 0) {
		return invalid("ahead", o.Ahead, "whole milliseconds up to 10s, for at most on one sliding log")
	}
	if o.Kind > OpRelease {
		return invalid("kind", o.Kind, "allow, at most, peek, give, reset, expiry, acquire, renew, release")
	}
	for i := range o.Charges {
		if err := o.checkCharge(i, lease); err != nil {
			return err
		}
	}
	return nil
}

func (o *Op) checkCharge(i int, lease bool) error {
	c := &o.Charges[i]
	limit := c.Limit.of()
	space, key := o.Subject(i)
	switch {
	case key == "":
		return invalid("key", "", "1 to 1024 bytes")
	case len(key) > MaxKeyBytes:
		return invalid("key", len(key), "1 to 1024 bytes")
	case limit.err != nil:
		return limit.err
	case c.Cost < 0:
		return invalid("cost", c.Cost, "0 or more")
	case o.Kind == OpAtMost && c.Cost > 0 && c.Cost != o.most():
		return invalid("cost", c.Cost, "one cost for all limits of at most")
	case lease && limit.numbers.Algorithm != algo.Concurrency:
		return invalid("limit", remark(c.Limit.Algorithm().String()), "concurrency, for "+o.Kind.String())
	case o.Kind == OpAcquire && c.Cost == 0:
		return invalid("cost", c.Cost, "1 or more, for acquire")
	case o.Kind <= OpGive && o.Kind != OpPeek && limit.numbers.Algorithm == algo.Concurrency:
		return invalid("limit", remark("concurrency"), "acquire and release on a concurrency limit, not "+o.Kind.String())
	}
	for j := range o.Charges[:i] {
		other := &o.Charges[j]
		otherSpace, otherKey := o.Subject(j)
		if named := other.Limit.of(); named.numbers.Algorithm == limit.numbers.Algorithm && named.name == limit.name &&
			limit.counts() && otherKey == key && otherSpace == space {
			return invalid("limits", remark(c.Limit.Algorithm().String()+" "+c.Limit.Name()+" twice"),
				"limits of one algorithm with different names (Named)")
		}
	}
	return nil
}

// most returns the cost of the operation's first limit that has one.
func (o *Op) most() int64 {
	for i := range o.Charges {
		if o.Charges[i].Cost > 0 {
			return o.Charges[i].Cost
		}
	}
	return 0
}

// Every store does the same with an operation: it makes the steps, puts the states
// in, decides, and reads the outcome from the steps ([Outcome.Fill]).

// Step returns the step of one of the operation's charges, with no state in it.
func (o *Op) Step(i int) algo.Step {
	c := &o.Charges[i]
	return algo.Step{Limit: c.Limit.Numbers(), Cost: c.Cost, Taken: o.TakenMicros(), Share: o.Share, Ahead: o.Ahead.Microseconds()}
}

// TakenMicros is Taken in µs since 1970, and 0 where that is zero.
func (o *Op) TakenMicros() int64 {
	if o.Taken.IsZero() {
		return 0
	}
	return o.Taken.UnixMicro()
}

// Units returns the units that the operation asks for: its largest cost.
func (o *Op) Units() (units int64) {
	for i := range o.Charges {
		units = max(units, o.Charges[i].Cost)
	}
	return units
}

// Decide runs the operation on its steps, which hold the states. It decides allow,
// at most, peek, give, acquire and renew; the other kinds need no decision.
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
	case OpGive:
		algo.Give(steps, now)
		return true, 0
	case OpAcquire:
		allowed = algo.Acquire(steps, now, strings.Clone(o.ID)) // the state keeps it
	case OpRenew:
		return algo.Renew(steps, now, strings.Clone(o.ID)), 0
	}
	if allowed {
		granted = o.Units()
	}
	return allowed, granted
}
