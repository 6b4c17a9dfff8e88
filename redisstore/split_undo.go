package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
)

// undoTimeout bounds the time for giving units back after the caller has left.
const undoTimeout = time.Second

// undo gives back the charges of the slots before n. If kept is not nil, this number of units of each limit stays
// charged. If the caller has left, this happens in the background, unless the maximum number of calls is in flight: in
// that case the units stay charged.
func (x *splitOp) undo(ctx context.Context, n int, kept *int64) {
	if ctx.Err() == nil {
		x.giveBack(ctx, n, kept)
		return
	}
	select {
	case x.store.inFlight <- struct{}{}: // counts as a call in flight
	default:
		return
	}
	background := x.clone()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	started := x.store.goBackground(func() {
		defer x.store.end()
		defer cancel()
		background.giveBack(own, n, kept)
	})
	if !started {
		cancel()
		x.store.end()
	}
}

// clone returns a copy that shares no memory with the caller. Once Do has returned, the caller may reuse its operations
// and the bytes of its keys.
func (x *splitOp) clone() *splitOp {
	c := &splitOp{store: x.store, slotOps: slices.Clone(x.slotOps), steps: slices.Clone(x.steps)}
	c.op = &engine.Op{Kind: x.op.Kind, Charges: slices.Clone(x.op.Charges)} // only the limits are read
	for i := range c.slotOps {
		c.slotOps[i].op = c.slotOps[i].op.Clone()
	}
	return c
}

// giveBack gives back the charges of the slots before n. If this fails, the units stay charged until their window ends,
// as documented for the mode "split".
func (x *splitOp) giveBack(ctx context.Context, n int, kept *int64) {
	for before := range n {
		part := &x.slotOps[before]
		switch {
		case x.op.Kind == engine.OpAcquire && part.hasPermits():
			x.restorePermits(ctx, before)
		case x.op.Kind == engine.OpAcquire:
			_ = x.runSlot(ctx, before, engine.OpRelease, time.Time{})
		case x.op.Kind == engine.OpAtMost:
			used := int64(0)
			if kept != nil {
				used = *kept
			}
			x.setCost(before, part.result.Granted)
			x.giveUnits(ctx, before, used)
		default:
			x.giveUnits(ctx, before, 0)
		}
	}
}

// giveUnits gives back the charge of a slot, except for the used units.
func (x *splitOp) giveUnits(ctx context.Context, n int, used int64) {
	part := x.slotOps[n]
	for i, undo := range part.result.Undo(&part.op, used, 2*undoTimeout) {
		one := splitOp{store: x.store, op: x.op, steps: x.steps, slotOps: []slotOp{{op: undo, indices: part.indices[i : i+len(undo.Charges)]}}}
		_ = one.runSlot(ctx, 0, undo.Kind, time.Time{})
		if one.atMicros > x.atMicros {
			x.atMicros = one.atMicros
		}
	}
}
