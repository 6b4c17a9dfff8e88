package core

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// slots holds the callers of Wait that sleep until their reserved slots. The callers of one line can take over each
// other's reservations.
type slots struct {
	queue.Slots[lineName, *Reservation]
}

// joinSlots adds the caller to the queue of callers that wait for their slots.
func (t *reserved) joinSlots(p *Policy, key string, n int64) {
	t.name = p.line(key).owned()
	t.waiter = p.limiter.slots.Take(t.name, t.reservation.slotOf(p, n))
}

// slotOf returns the slot of a reservation of n units. Fewer units may be used earlier by the smallest interval of the
// policy's limits, because under each limit they would be available earlier by at least as much. With next_pays, the slot
// does not depend on the units, and whoever uses the rest waits for the largest interval for each unit used before.
func (r *Reservation) slotOf(p *Policy, n int64) queue.Slot[*Reservation] {
	early, late, nextPays := time.Duration(math.MaxInt64), time.Duration(0), false
	for i := range p.limits {
		l := p.limits[i].Numbers()
		early = min(early, time.Duration(l.Period)*time.Microsecond/time.Duration(max(l.Count, l.Max, 1)))
		late = max(late, time.Duration(l.Period)*time.Microsecond/time.Duration(max(l.Count, 1)))
		nextPays = nextPays || l.NextPays
	}
	if nextPays {
		early = 0
	} else {
		late = 0
	}
	return queue.Slot[*Reservation]{At: r.slot, Units: n, Early: early, Late: late, Reservation: r}
}

// slot sleeps until the slot of an admitted caller. If the caller leaves earlier, its units are given back.
func (p *Policy) slot(ctx context.Context, key string, n int64, t *reserved) engine.Answer {
	if t.answer.Err != nil || t.answer.Delay == 0 {
		return t.answer
	}
	if t.waiter.Waiter == nil {
		t.joinSlots(p, key, n)
	}
	_, err := p.limiter.slots.Until(ctx, p.limiter.done, t.name, t.waiter)
	if err == nil {
		return t.answer
	}
	p.limiter.turns.leave(ctx, p, *t)
	if errors.Is(err, queue.ErrEnded) {
		err = engine.ErrClosed
	}
	return engine.Answer{Err: err}
}

// undoWithin bounds a call that gives units back for callers that have left.
const undoWithin = time.Second

// outliving returns the context of a call that gives units back or settles them. It is made even if the caller has
// left, because otherwise the units would stay charged.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil || ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
}

// giveBack cancels the last reservations of a line, for callers that have left it, including callers that left because of
// Close. If the call fails, the units stay spent. The slots are given back from last to first, because the store does not
// give back a slot that precedes a used one.
func (l *Limiter) giveBack(ctx context.Context, callers []*caller) {
	var gone []queue.SlotWaiter
	var name lineName
	for _, a := range callers {
		if a.answer.waiter.Waiter != nil {
			gone, name = append(gone, a.answer.waiter), a.answer.name
		}
	}
	if len(gone) == 0 {
		return
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for back := range slices.Chunk(l.slots.Drop(name, gone...), engine.MaxOps) {
		ops, results := make([]engine.Op, len(back)), make([]engine.Answer, len(back))
		for i, s := range back {
			ops[i] = s.Reservation.held.Settle(s.Used)
		}
		l.store.Do(own, ops, results)
		for i := range ops {
			if l.observer != nil {
				l.observer(own, &ops[i], &results[i])
			}
		}
	}
}
