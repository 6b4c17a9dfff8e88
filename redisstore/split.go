package redisstore

import (
	"context"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// legs is an operation whose limits are on several slots of a Cluster: one leg a
// slot, in the order in which the request lists them. They are decided one after
// another. What earlier ones charged is given back when a later one refuses: by
// handle, so that nothing is given to a window that had no part in it. An
// acquire puts back what its holder had: see split_hold.go.
//
// Nothing exceeds a limit by that. But a request that is refused, or whose
// process dies, can hold its cost on earlier legs for a while, and limits that
// count refusals do so only on the leg that refuses. The decision says "split".
type legs struct {
	store    *Store
	op       *engine.Op
	steps    []algo.Step // each limit's answer, in the request's order
	list     []leg
	atMicros int64
	allowed  bool
	got      int64 // by at most
}

// leg is one slot's part.
type leg struct {
	op      engine.Op
	indices []int
	had     []held // of an acquire, by charge
	result  engine.Result
}

// split decides an operation over several slots.
func (s *Store) split(ctx context.Context, op *engine.Op, result *engine.Result) {
	l := s.cut(op)
	switch op.Kind {
	case engine.OpAllow:
		result.Err = l.chain(ctx)
	case engine.OpAcquire:
		result.Err = l.acquire(ctx)
	case engine.OpAtMost:
		result.Err = l.most(ctx)
	default:
		result.Err = l.each(ctx)
	}
	if result.Err != nil {
		return
	}
	if op.Kind == engine.OpReset || op.Kind == engine.OpExpiry {
		for i := range l.list {
			result.Found = result.Found || l.list[i].result.Found
			result.TTL = max(result.TTL, l.list[i].result.TTL)
		}
		return
	}
	granted := l.granted()
	result.Outcome.Fill(op, l.steps, l.allowed, granted, l.atMicros)
	result.Outcome.Promise = engine.Promise{Mode: engine.Split}
	if op.Kind == engine.OpRelease {
		for i := range l.list {
			result.Found = result.Found || l.list[i].result.Found
		}
	}
}

// cut makes the legs.
func (s *Store) cut(op *engine.Op) *legs {
	l := &legs{store: s, op: op, steps: make([]algo.Step, len(op.Charges)), allowed: true}
	place := map[uint16]int{}
	for i := range op.Charges {
		at := s.slotOf(op, i)
		n, ok := place[at]
		if !ok {
			n = len(l.list)
			place[at] = n
			l.list = append(l.list, leg{op: engine.Op{Kind: op.Kind, ID: op.ID, Taken: op.Taken}})
		}
		charge := op.Charges[i]
		charge.Space, charge.Key = op.Subject(i)
		l.list[n].op.Charges = append(l.list[n].op.Charges, charge)
		l.list[n].indices = append(l.list[n].indices, i)
	}
	return l
}

// do runs one leg as an operation of its own, and keeps its limits' answers.
func (l *legs) do(ctx context.Context, n int, kind engine.Kind, taken time.Time) error {
	e := &l.list[n]
	e.op.Kind, e.op.Taken = kind, taken
	e.result = engine.Result{}
	ops, results := []engine.Op{e.op}, []engine.Result{{}}
	p := new(plan)
	p.start(l.store, ops, results)
	p.add(0)
	l.store.run(ctx, p)
	e.result = results[0]
	if e.result.Err != nil {
		return e.result.Err
	}
	for i, at := range e.indices {
		l.steps[at] = p.steps[i]
		l.steps[at].Limit = l.op.Charges[at].Limit.Numbers()
	}
	l.atMicros = e.result.Outcome.AtMicros
	return nil
}

// each runs all legs: operations of which none depends on another.
func (l *legs) each(ctx context.Context) error {
	for n := range l.list {
		if err := l.do(ctx, n, l.op.Kind, l.op.Taken); err != nil {
			return err
		}
		if l.op.Kind != engine.OpReset && l.op.Kind != engine.OpExpiry {
			l.allowed = l.allowed && l.list[n].result.Outcome.Allowed
		}
	}
	return nil
}

// chain charges leg after leg, until one refuses.
func (l *legs) chain(ctx context.Context) error {
	for n := range l.list {
		err := l.do(ctx, n, l.op.Kind, time.Time{})
		if err != nil {
			l.undo(ctx, n, nil)
			return err
		}
		if !l.list[n].result.Outcome.Allowed {
			return l.refused(ctx, n)
		}
	}
	return nil
}

// refused gives back what the legs before n charged, and asks those after it
// what they would have said.
func (l *legs) refused(ctx context.Context, n int) error {
	l.allowed = false
	l.undo(ctx, n, nil)
	for after := n + 1; after < len(l.list); after++ {
		l.list[after].lacks()
		if err := l.do(ctx, after, engine.OpPeek, time.Time{}); err != nil {
			return err
		}
	}
	for i := range l.steps {
		l.steps[i].Outcome.Delay = 0
	}
	return nil
}

// most takes from each leg what the ones before it had, and gives back what the
// last could not match.
func (l *legs) most(ctx context.Context) error {
	least := l.op.Units()
	for n := range l.list {
		if l.list[n].op.Units() == 0 {
			if err := l.do(ctx, n, engine.OpPeek, time.Time{}); err != nil {
				return err
			}
			continue
		}
		l.setCost(n, least)
		err := l.do(ctx, n, engine.OpAtMost, time.Time{})
		if err != nil {
			l.undo(ctx, n, nil)
			return err
		}
		least = l.list[n].result.Outcome.Granted
		if least == 0 {
			for after := n + 1; after < len(l.list); after++ {
				l.setCost(after, 1)
			}
			return l.refused(ctx, n)
		}
	}
	l.got = least
	l.undo(ctx, len(l.list), &least)
	return nil
}

func (l *legs) setCost(n int, cost int64) {
	charges := l.list[n].op.Charges
	for i := range charges {
		if charges[i].Cost > 0 {
			charges[i].Cost = cost
		}
	}
}

func (l *legs) granted() int64 {
	switch {
	case !l.allowed:
		return 0
	case l.op.Kind == engine.OpAllow || l.op.Kind == engine.OpAcquire:
		return l.op.Units()
	case l.op.Kind == engine.OpAtMost:
		return l.got
	default:
		return 0
	}
}
