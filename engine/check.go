package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine/algo"
)

const (
	maxShare = 1<<16 - 1
	maxID    = 64 // bytes
)

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
