package redisstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// undoTime is how long what a refused request holds on other slots may take to
// be given back, once its caller has left.
const undoTime = time.Second

// undo gives back what the legs before n charged, but for what is kept. It ends
// on its own if the caller has left.
func (l *legs) undo(ctx context.Context, n int, kept *int64) {
	if ctx.Err() == nil {
		l.giveBack(ctx, n, kept)
		return
	}
	select {
	case l.store.slots <- struct{}{}: // it counts as a call under way
	default:
		return
	}
	aside := l.clone()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	started := l.store.spawn(func() {
		defer l.store.leave()
		defer cancel()
		aside.giveBack(own, n, kept)
	})
	if !started {
		cancel()
		l.store.leave()
	}
}

// clone returns the legs in memory of their own: the caller's operation, and the
// bytes of its keys, change once Do has returned.
func (l *legs) clone() *legs {
	c := &legs{store: l.store, list: slices.Clone(l.list), steps: slices.Clone(l.steps)}
	c.op = &engine.Op{Kind: l.op.Kind, Charges: slices.Clone(l.op.Charges)} // of which only limits are read
	for i := range c.list {
		op := &c.list[i].op
		op.ID, op.Charges = strings.Clone(op.ID), slices.Clone(op.Charges)
		for j := range op.Charges {
			charge := &op.Charges[j]
			charge.Space, charge.Key = strings.Clone(charge.Space), strings.Clone(charge.Key)
		}
	}
	return c
}

// giveBack is undo. What cannot be given back stays spent until its window
// ends: that is what the mode says.
func (l *legs) giveBack(ctx context.Context, n int, kept *int64) {
	for before := range n {
		e := &l.list[before]
		switch {
		case l.op.Kind == engine.OpAcquire && e.holds():
			l.restore(ctx, before)
		case l.op.Kind == engine.OpAcquire:
			_ = l.do(ctx, before, engine.OpRelease, time.Time{})
		case l.op.Kind == engine.OpAtMost:
			over := e.result.Outcome.Granted
			if kept != nil {
				over -= *kept
			}
			l.setCost(before, over)
			l.giveUnits(ctx, before)
		default:
			l.giveUnits(ctx, before)
		}
	}
}

// giveUnits gives a leg's costs back: each limit's by its own handle, since their
// states may be ahead of the clock by different times.
func (l *legs) giveUnits(ctx context.Context, n int) {
	e := l.list[n]
	for i, charge := range e.op.Charges {
		if charge.Cost == 0 {
			continue
		}
		one := legs{store: l.store, op: l.op, steps: l.steps, list: []leg{{
			op: engine.Op{Charges: e.op.Charges[i : i+1]}, indices: e.indices[i : i+1],
		}}}
		_ = one.do(ctx, 0, engine.OpGive, e.result.Outcome.Taken(i))
		if one.atMicros > l.atMicros {
			l.atMicros = one.atMicros
		}
	}
}
