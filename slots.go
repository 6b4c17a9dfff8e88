package headgate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// slots holds the callers of Wait that sleep until their reserved slots.
type slots struct {
	queue.Slots[slotKey, *Reservation]
}

// slotKey identifies callers that can take over each other's reservations: the callers of one line that need the same
// number of units.
type slotKey struct {
	lineName

	units int64
}

// joinSlots adds the caller to the queue of callers that wait for their slots.
func (t *reserved) joinSlots(p *Policy, key string, n int64) {
	t.name = slotKey{p.line(key).owned(), n}
	t.waiter = p.limiter.slots.Take(t.name, t.reservation.slot, t.reservation)
}

// slot sleeps until the slot of an admitted caller. If the caller leaves earlier, its units are given back.
func (p *Policy) slot(ctx context.Context, key string, n int64, t reserved) (Decision, error) {
	if t.err != nil || t.decision.Delay == 0 {
		return t.decision, t.err
	}
	if t.waiter.Waiter == nil {
		t.joinSlots(p, key, n)
	}
	_, err := p.limiter.slots.Until(ctx, p.limiter.done, t.name, t.waiter)
	if err == nil {
		return t.decision, nil
	}
	p.limiter.turns.leave(ctx, p, t)
	if errors.Is(err, queue.ErrEnded) {
		err = ErrClosed
	}
	return t.decision, err
}

// undoWithin bounds a call that gives units back for callers that have left.
const undoWithin = time.Second

// giveBack cancels the reservations of callers that have left, including callers that left because of Close. If the
// call fails, the units stay spent. The slots are given back from last to first, because the store does not give back
// a slot that precedes a used one.
func (l *Limiter) giveBack(ctx context.Context, callers []*caller) {
	var left []*Reservation
	for _, a := range callers {
		if t := &a.answer; t.waiter.Waiter != nil {
			left = append(left, l.slots.Drop(t.name, t.waiter))
		}
	}
	if len(left) == 0 {
		return
	}
	slices.SortStableFunc(left, func(a, b *Reservation) int { return b.slot.Compare(a.slot) })
	ops := make([]engine.Op, len(left))
	for i, r := range left {
		ops[i] = r.held.Settle(0)
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	results := make([]engine.Result, len(ops))
	l.store.Do(own, ops, results)
	for i := range ops {
		if l.observer != nil {
			l.observe(own, &ops[i], &results[i])
		}
	}
}
