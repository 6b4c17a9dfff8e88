package core

import (
	"context"
	"math"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/queue"
)

// turns lets the callers of Wait reserve units of a key in order of arrival. Callers that arrive while a call for
// their key is in flight share the next call, so a thousand waiting callers cause only a few calls to the store.
//
// A call continues after one of its callers has left. If it charges units for that caller, these units are given back.
// Callers that leave before their slots take turns too: while a call is in flight, the last slot is not known yet.
type turns struct {
	queue.Turns[lineName, *caller]
}

// caller is one call to Wait whose request runs in another goroutine.
type caller struct {
	ctx    context.Context //nolint:containedctx // of one call, for the deadline and the values
	policy *Policy
	kind   engine.Kind
	key    string
	units  int64

	leaves bool // set if the call only gives back the caller's slot
	answer reserved
	done   chan struct{} // closed when the caller has its answer
	// over is set by the first of two events: the answer arrives, or the context ends.
	over atomic.Bool
}

// maxTurn is the maximum number of callers that share one call.
const maxTurn = 256

// reserve is like Policy.Reserve, but serves callers in order of arrival. If there is no delay, it returns no
// reservation, because the caller can use the units at once.
func (t *turns) reserve(ctx context.Context, p *Policy, key string, n int64) reserved {
	if p.limiter.inMemory {
		c := p.reserve(ctx, key, n, false)
		defer c.FreeReserve()
		r := reserved{answer: c.answers[0].Clone()}
		if r.answer.Delay > 0 {
			r.reservation = p.limiter.Reserved(&c.ops[0], &c.answers[0])
		}
		return r
	}
	a := newCaller(ctx, p, engine.OpReserve, key, n)
	name := p.line(a.key)
	w, ok := t.Join(name, a, p.limiter.lines.most, maxTurn, answer)
	if !ok {
		return notReserved(errWaiting(p.limiter.lines.most))
	}
	return a.wait(func() bool { return t.Leave(name, w) })
}

// leave gives back the slot of a caller that leaves before its slot comes.
func (t *turns) leave(ctx context.Context, p *Policy, r reserved) {
	a := &caller{ctx: ctx, policy: p, leaves: true, answer: r, done: make(chan struct{})}
	t.Join(r.name, a, math.MaxInt, maxTurn, answer)
	<-a.done
}

// charge is like AllowN, but gives the units back if ctx ends while the call is in flight.
func (p *Policy) charge(ctx context.Context, key string, n int64) (t reserved) {
	if n == 0 || p.limiter.inMemory || ctx.Done() == nil {
		c := p.Ask(ctx, engine.OpAllow, key, n)
		defer c.Free()
		return reserved{answer: c.answers[0].Clone()}
	}
	a := newCaller(ctx, p, engine.OpAllow, key, n)
	go answer([]*caller{a})
	return a.wait(func() bool { return false })
}

func newCaller(ctx context.Context, p *Policy, kind engine.Kind, key string, n int64) *caller {
	return &caller{ctx: ctx, policy: p, kind: kind, key: strings.Clone(key), units: n, done: make(chan struct{})}
}

// op returns the caller's request.
func (a *caller) op() engine.Op {
	op := engine.Op{Kind: a.kind, Space: a.policy.space, Key: a.key, Charges: a.policy.Charges(nil, a.units)}
	if a.kind == engine.OpReserve {
		op.Ahead = LongestDelay(a.ctx)
	}
	return op
}

// wait returns the caller's answer, or returns early when the caller's context ends. withdraw reports whether the
// caller's request was removed before it was sent.
func (a *caller) wait(withdraw func() bool) reserved {
	select {
	case <-a.done:
		return a.observed(a.answer)
	case <-a.ctx.Done():
	}
	switch left := notReserved(a.ctx.Err()); {
	case withdraw():
		return left
	case a.over.Swap(true): // the answer came first
		<-a.done
		return a.observed(a.answer)
	default:
		return a.observed(left)
	}
}

// observed returns an answer that the observer has received, with the caller's own context and in its goroutine. A
// caller whose observer panics leaves its slot.
func (a *caller) observed(r reserved) reserved {
	l := a.policy.limiter
	if l.observer == nil {
		return r
	}
	returned := false
	defer func() {
		if !returned && r.waiter.Waiter != nil {
			l.turns.leave(a.ctx, a.policy, r)
		}
	}()
	op := a.op()
	l.observer(a.ctx, &op, &r.answer)
	returned = true
	return r
}

// answer makes the calls for several callers in the same line. It gives back the slots of callers that leave, sends
// the requests of the other callers, and delivers the results to them.
func answer(callers []*caller) {
	var leaving, asking []*caller
	for _, a := range callers {
		if a.leaves {
			leaving = append(leaving, a)
		} else {
			asking = append(asking, a)
		}
	}
	callers[0].policy.limiter.giveBack(callers[0].ctx, leaving)
	for _, a := range leaving {
		close(a.done)
	}
	if len(asking) > 0 {
		ask(asking)
	}
}

// ask sends the requests of several callers of one line in one call, and stores the results in them.
func ask(callers []*caller) {
	p := callers[0].policy
	ops := make([]engine.Op, len(callers))
	contexts := make([]context.Context, 0, len(callers))
	for i, a := range callers {
		ops[i] = a.op()
		contexts = append(contexts, a.ctx)
	}
	ctx, cancel := queue.Outliving(undoWithin, contexts...)
	defer cancel()
	results := p.limiter.reserveEach(ctx, ops)
	left := make([]*caller, 0, len(callers))
	for i, a := range callers {
		a.answer = results[i]
		if mode := a.answer.answer.Promise.Mode; a.kind == engine.OpAllow && mode != engine.Exact && mode != engine.Split {
			a.answer.reservation = nil // the units are local to this process, so they stay spent
		}
		gone := a.over.Swap(true)
		if gone {
			left = append(left, a)
		}
		if a.answer.reservation != nil && (gone || a.answer.answer.Delay > 0) {
			a.answer.joinSlots(p, a.key, a.units)
		}
	}
	for _, a := range callers {
		close(a.done)
	}
	// Units are given back only after every caller has got its slot, so that later callers can move up to earlier
	// slots.
	p.limiter.giveBack(ctx, left)
}
