package redisstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate"
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
	c.op = &headgate.Op{Kind: l.op.Kind, Charges: slices.Clone(l.op.Charges)} // of which only limits are read
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
		at, decision := e.result.Decision.At, e.result.Decision
		kind, over := headgate.OpGive, e.op.Units()
		switch l.op.Kind {
		case headgate.OpAcquire:
			if e.holds() {
				l.restore(ctx, before)
				continue
			}
			kind = headgate.OpRelease
		case headgate.OpAtMost:
			over = decision.Granted
			if kept != nil {
				over -= *kept
			}
			l.setCost(before, over)
		}
		if over > 0 {
			_ = l.do(ctx, before, kind, at)
		}
	}
}
