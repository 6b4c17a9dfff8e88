package headgate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Cancel gives back the reservation's units. Each unit returns to the window, segment, log entry or bucket that was
// charged, if it is still counted there. Units stay spent if the delays of later callers already include them. A pacer
// takes units back only before the end of the delay.
//
// A reservation is settled once: later calls to Cancel and Commit change nothing, in any process. It can be settled as
// long as its units are counted, but for 5 minutes to an hour after its delay; [Policy.SettleWithin] permits a week.
// Cancel returns nil if the reservation has ended, so it can be deferred before a Commit. Otherwise it returns the same
// errors as [Policy]; after an error the call can be repeated. Cancel and Commit settle even if ctx has ended, in a call
// of at most a second.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r.isEmpty() {
		return nil
	}
	_, err := r.Core().Settle(ctx, r.Core().Held().Settle(0))
	if errors.Is(err, ErrEnded) {
		return nil
	}
	return err
}

// Commit settles the reservation with the number of units used, which is 0 or more. For a reservation of one key, used
// is one number, for all limits of the policy. For a list of charges ([Limiter.ReserveAll]), it is one number for each
// charge, in order; see [Reservation.CommitNamed] for fewer. The number for a semaphore is ignored.
//
// If fewer units than reserved were used, Commit gives the rest back like Cancel. If more were used, it charges the
// difference, even beyond the limit, but at most one capacity beyond it. For several windows, this capacity is the
// largest of theirs. Callers are denied until the excess has refilled or expired. Commit returns the number of used
// units that could not be charged, which is above 0 only beyond that capacity. For several limits it is the highest such
// number.
//
// Commit returns [ErrEnded] and changes nothing if the reservation was settled before or can no longer be settled.
// After an error that matches [ErrOutcomeUnknown], a repeated Commit returns ErrEnded if the first one was applied.
func (r *Reservation) Commit(ctx context.Context, used ...int64) (dropped int64, err error) {
	op, err := r.settlement(used)
	if err != nil {
		return 0, err
	}
	return r.Core().Settle(ctx, op)
}

// CommitNamed is [Reservation.Commit] with the units used by each policy, by its name. Charges of policies that are not
// in used keep the number of units that was reserved. A name can be used only if the reservation has one key under this
// policy.
//
// If a request and an estimate of 4000 tokens were reserved, CommitNamed with {"tokens": 1500} leaves one request and
// 1500 tokens charged.
func (r *Reservation) CommitNamed(ctx context.Context, used map[string]int64) (dropped int64, err error) {
	op, err := r.namedSettlement(used, func(l *engine.Reserved) int64 { return l.Units })
	if err != nil {
		return 0, err
	}
	return r.Core().Settle(ctx, op)
}

// Report records the units used so far and restarts the term. It takes the same numbers as [Reservation.Commit]. Units
// beyond those already charged are charged now, as in Commit. A smaller number gives nothing back yet. Reported units
// stay used, however the reservation ends. To extend permits, use [Reservation.Renew]. Report returns [ErrEnded] if the
// reservation is no longer open. For a reservation without a term it changes nothing.
//
// With 1000 tokens reserved, the charge is 1000 after a report of 600, and 1200 after a report of 1200.
func (r *Reservation) Report(ctx context.Context, used ...int64) error {
	op, err := r.settlement(used)
	if err != nil {
		return err
	}
	return r.Core().Report(ctx, op)
}

// ReportNamed is [Reservation.Report] with the units used by each policy, as in [Reservation.CommitNamed]. Charges of
// other policies are reported as 0 units used.
func (r *Reservation) ReportNamed(ctx context.Context, used map[string]int64) error {
	op, err := r.namedSettlement(used, func(*engine.Reserved) int64 { return 0 })
	if err != nil {
		return err
	}
	return r.Core().Report(ctx, op)
}

// Renew extends each permit of the reservation by its lease time. Call it at intervals of a third of the shortest lease
// time. If the reservation has a term ([Reservation.Report]), Renew first restarts the term. If the reservation has
// ended, Renew extends nothing and returns [ErrEnded]. If only a permit has ended, it returns ErrEnded and extends no
// permit. If the reservation has neither permits nor a term, Renew does nothing.
func (r *Reservation) Renew(ctx context.Context) error {
	if r.isEmpty() {
		return errNoReservation
	}
	return r.Core().Renew(ctx)
}

// settlement returns the operation that settles the reservation with the units used.
func (r *Reservation) settlement(used []int64) (engine.Op, error) {
	if r.isEmpty() {
		return engine.Op{}, errNoReservation
	}
	held := r.Core().Held()
	items, uncharged := held.Items(), held.Uncharged
	if r.oneKey() {
		items, uncharged = 1, func(int) bool { return !slices.ContainsFunc(held.Limits, charged) }
	}
	if len(used) != items {
		return engine.Op{}, usedError(fmt.Sprint(len(used), " numbers"), fmt.Sprintf("%d, one for each charge that was reserved", items))
	}
	for item, n := range used {
		if err := checkUse(strconv.Itoa(item), n, !uncharged(item)); err != nil {
			return engine.Op{}, err
		}
	}
	if items == 1 {
		return held.Settle(used[0]), nil
	}
	return held.SettleEach(func(item int) int64 { return used[item] }), nil
}

// charged reports whether units were charged to a limit.
func charged(l engine.Reserved) bool { return l.Units > 0 }

// oneKey reports whether the reservation is of one policy and one key, so that one number is the cost of the request.
func (r *Reservation) oneKey() bool {
	held := r.Core().Held()
	for i := range held.Limits {
		l := &held.Limits[i]
		if l.Space != held.Limits[0].Space || l.Key != held.Limits[0].Key {
			return false
		}
	}
	return held.Listed <= 1
}

// namedSettlement returns the operation that settles the reservation with the units used by each policy, and with the
// result of others for every other policy.
func (r *Reservation) namedSettlement(used map[string]int64, others func(*engine.Reserved) int64) (engine.Op, error) {
	if r.isEmpty() {
		return engine.Op{}, errNoReservation
	}
	held := r.Core().Held()
	op := held.Settle(0)
	keys, charges := map[string]string{}, map[string]bool{}
	for i := range op.Charges {
		l := &held.Limits[i]
		if l.Limit.Algorithm().Holds() {
			continue
		}
		space, key := op.Subject(i)
		name, _ := engine.PolicyOf(space)
		units, given := used[name]
		if other, seen := keys[name]; given && seen && other != key {
			return op, usedError(strconv.Quote(name), "the name of a policy with one key in the list; Commit takes a number for each charge")
		}
		keys[name] = key
		charges[name] = charges[name] || charged(*l)
		switch {
		case l.Units == 0: // a choice that did not pay
		case given:
			op.Charges[i].Cost = units
		default:
			op.Charges[i].Cost = others(l)
		}
	}
	for name, units := range used {
		if _, ok := keys[name]; !ok && units >= 0 {
			accepted := "a policy of the reservation: " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
			if len(keys) == 0 {
				accepted = "an empty map, because the reservation has only semaphores"
			}
			return op, usedError(strconv.Quote(name), accepted)
		}
		if err := checkUse(strconv.Quote(name), units, charges[name]); err != nil {
			return op, err
		}
	}
	return op, nil
}

func usedError(value, accepted string) error {
	return &engine.InputError{Field: "used", Value: value, Accepted: accepted}
}

// checkUse returns an error for a number that cannot be settled. Units cannot be charged if none were charged before.
func checkUse(index string, units int64, charges bool) error {
	switch {
	case units < 0:
		return engine.InvalidInput("used["+index+"]", strconv.FormatInt(units, 10), "0 or more")
	case units > 0 && !charges:
		return engine.InvalidInput("used["+index+"]", strconv.FormatInt(units, 10), "0, because no units were charged before")
	default:
		return nil
	}
}
