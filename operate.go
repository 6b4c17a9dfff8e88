package headgate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/inside"
)

// Through package core, the servers and adapters of this repository can use these unexported functions.
func init() {
	inside.Do, inside.Space = (*Limiter).do, (*Limiter).inSpace
	inside.WithObserver = func(observer func(ctx context.Context, op *engine.Op, r *result)) Option {
		return func(l *Limiter) { l.observer = observer }
	}
	inside.OpenOf, inside.WatchTerms = (*Limiter).openOf, (*Limiter).watchTerms
	inside.Policy, inside.Semaphore = (*Limiter).policy, (*Limiter).semaphore
	inside.Limits = func(p *Policy) []engine.Limit { return slices.Clone(p.limits) }
	inside.Adapts = func(p *Policy) bool { return p.adapts }
	inside.Paces = func(p *Policy) bool { return p.paces }
	inside.Charge = func(p *Policy, ctx context.Context, key string, units int64) (*Limiter, engine.Op, result) {
		op, r := p.settled(ctx, key, units)
		return p.limiter, op, r
	}
	inside.ChargeAll = (*Limiter).charge
	inside.Outcomes = (*Limiter).outcomesOf
	inside.WithOutcomeClock = func(now func() time.Time) Option { return func(l *Limiter) { l.outcomes.now = now } }
	inside.SettleAll = func(r *Reservation, ctx context.Context, used int64) error {
		_, err := r.settle(ctx, r.held.Settle(used))
		return err
	}
	inside.Term = func(r *Reservation) *engine.Term { return r.held.Term }
}

// result is the answer to one operation.
type result = inside.Result[*Reservation]

func failed(err error) result { return result{Answer: engine.Answer{Err: err}} }

// batch holds the store's results during one call of do.
type batch struct{ results []engine.Answer }

var batches = sync.Pool{New: func() any { return new(batch) }}

// do decides operations for package core.
func (l *Limiter) do(ctx context.Context, ops []engine.Op, memory []result) []result {
	results := slices.Grow(memory[:0], len(ops))[:len(ops)]
	b := batches.Get().(*batch)
	b.results = b.results[:0]
	for i := range ops {
		if ops[i].Space == "" {
			ops[i].Space = l.adHoc()
		}
		b.results = append(b.results, engine.Answer{})
	}
	l.run(ctx, ops, b.results)
	for i := range ops {
		if ops[i].Term != nil || ops[i].Reservation != nil && ops[i].Reservation.Term != nil {
			l.watchTerms()
		}
		results[i] = result{Answer: b.results[i]}
		if ops[i].Kind == engine.OpReserve || ops[i].Kind == engine.OpAllow && ops[i].Hints.Settled {
			results[i].Reservation = l.reserved(&ops[i], &b.results[i], true).reservation
		}
		if l.observer != nil {
			l.observer(ctx, &ops[i], &results[i])
		}
		if l.observed != nil && ops[i].Kind.Takes() {
			d := decisionOf(&ops[i], &results[i].Answer, "")
			l.observed(ctx, observation(&ops[i], &d, results[i].Err))
		}
	}
	clear(b.results)
	batches.Put(b)
	return results
}
