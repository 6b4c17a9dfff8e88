package headgate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// turns lets the callers of Wait reserve units of a key in the order in which they came.
// Callers that come while a call for their key is in flight leave together, in the next
// call. So a thousand waiting callers take a few calls of the store.
type turns struct {
	mu sync.Mutex
	// byName has the keys with a call in flight; nil where no other caller waits.
	byName map[lineName]*turn
}

// turn is the callers that wait until the call in flight for their key returns.
type turn struct {
	name    lineName
	waiting []*asker
}

// asker is one of these callers.
type asker struct {
	ctx    context.Context //nolint:containedctx // of one call, for the deadline and the values
	policy *Policy
	units  int64

	done   chan struct{} // closed when the answer is set
	answer reserved
	left   bool // the caller has given up
}

// maxTurn is how many callers leave in one call.
const maxTurn = 256

// reserve is Policy.Reserve, in turn. Without a delay there is no reservation: the units
// can be used at once.
func (t *turns) reserve(ctx context.Context, p *Policy, key string, n int64) reserved {
	name := lineName{space: p.space, key: key}
	t.mu.Lock()
	q, busy := t.byName[name]
	if busy {
		if q != nil && len(q.waiting) >= maxWaiting {
			t.mu.Unlock()
			return reserved{err: errWaiting()}
		}
		a := &asker{ctx: ctx, policy: p, units: n, done: make(chan struct{})}
		t.join(name, q, a)
		t.mu.Unlock()
		return t.wait(a)
	}
	if t.byName == nil {
		t.byName = map[lineName]*turn{}
	}
	t.byName[name] = nil
	t.mu.Unlock()
	answer := p.reserve(ctx, key, n, false)
	t.mu.Lock()
	defer t.mu.Unlock()
	if q = t.byName[name]; q == nil {
		delete(t.byName, name)
	} else {
		go t.serve(q)
	}
	return answer
}

// join puts a caller behind those that wait for the key.
func (t *turns) join(name lineName, q *turn, a *asker) {
	if q == nil {
		delete(t.byName, name)
		name.key = strings.Clone(name.key) // the memory of the caller in flight ends with its call
		q = &turn{name: name}
		t.byName[name] = q
	}
	q.waiting = append(q.waiting, a)
}

// wait returns the caller's answer, or leaves when its context ends.
func (t *turns) wait(a *asker) reserved {
	select {
	case <-a.done:
		return a.answer
	case <-a.ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-a.done: // just in time
		return a.answer
	default:
		a.left = true
		return reserved{err: a.ctx.Err()}
	}
}

// serve reserves for the callers of a key until none waits.
func (t *turns) serve(q *turn) {
	for {
		t.mu.Lock()
		q.waiting = slices.DeleteFunc(q.waiting, func(a *asker) bool { return a.left })
		if len(q.waiting) == 0 {
			delete(t.byName, q.name)
			t.mu.Unlock()
			return
		}
		leaving := slices.Clone(q.waiting[:min(len(q.waiting), maxTurn)])
		q.waiting = slices.Delete(q.waiting, 0, len(leaving))
		t.mu.Unlock()
		t.answer(leaving, q.name.key)
	}
}

// answer reserves for some callers in one call. Of a caller that has left meanwhile it
// gives the units back.
func (t *turns) answer(leaving []*asker, key string) {
	l := leaving[0].policy.limiter
	ops := make([]engine.Op, len(leaving))
	for i, a := range leaving {
		op := &ops[i]
		*op = engine.Op{Kind: engine.OpReserve, Space: a.policy.space, Key: key, Ahead: longestDelay(a.ctx)}
		for _, limit := range a.policy.limits {
			op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: a.units})
		}
	}
	ctx, cancel := together(leaving)
	defer cancel()
	results := l.reserveEach(ctx, ops)
	var cancelled []engine.Op
	t.mu.Lock()
	for i, a := range leaving {
		a.answer = results[i]
		a.answer.decision.Binding.Policy = a.policy.name
		if a.left && a.answer.reservation != nil {
			cancelled = append(cancelled, a.answer.reservation.held.Settle(0))
		}
		close(a.done)
	}
	t.mu.Unlock()
	if len(cancelled) > 0 {
		slices.Reverse(cancelled) // no slot stays behind another
		own, end := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
		defer end()
		l.Do(own, cancelled, nil)
	}
}

// together returns a context for the call of several callers. It ends with the last
// caller's deadline.
func together(callers []*asker) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(callers[0].ctx)
	last := time.Time{}
	for _, a := range callers {
		deadline, ok := a.ctx.Deadline()
		if !ok {
			return ctx, func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
