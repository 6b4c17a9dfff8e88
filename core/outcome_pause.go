package core

import (
	"context"
	"slices"

	"github.com/headgate/headgate/engine"
)

// sendSoon sends the pending outcomes of a key to the store in the background, with a take of 0 units. A single
// goroutine sends the outcomes of all keys, because an overloaded service can answer many requests at once with a
// Retry-After. The charges include the adaptive limits of the key. With an in-memory store, it does nothing, because no
// other process shares the counters.
func (l *Limiter) sendSoon(of subject, charges []engine.Charge) {
	if l.inMemory {
		return
	}
	o := &l.outcomes
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, pending := o.of[of]; !pending || o.closed {
		return
	}
	if o.urgent == nil {
		o.urgent = map[subject][]engine.Charge{}
	}
	if o.urgent[of] = charges; !o.sending {
		o.sending = true
		l.watching.Go(l.sendUrgent)
	}
}

// sendUrgent sends all urgent outcomes. If a call fails, its outcomes are lost, as in a request that fails.
func (l *Limiter) sendUrgent() {
	for {
		ops := l.outcomes.takeUrgent()
		if len(ops) == 0 {
			return
		}
		for i := range ops {
			l.outcomes.attach(&ops[i])
		}
		ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
		l.store.Do(ctx, ops, make([]engine.Answer, len(ops)))
		cancel()
	}
}

// takeUrgent removes urgent keys and returns their operations. If it returns none, the goroutine must end.
func (o *outcomes) takeUrgent() (ops []engine.Op) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for of, charges := range o.urgent {
		if len(ops) == engine.MaxOps {
			break
		}
		charges = slices.DeleteFunc(slices.Clone(charges), func(c engine.Charge) bool { return !c.Limit.Algorithm().Adapts() })
		ops = append(ops, engine.Op{Kind: engine.OpAllow, Space: of.space, Key: of.key, Charges: charges})
		delete(o.urgent, of)
	}
	o.sending = len(ops) > 0
	return ops
}

// close stops further requests to send outcomes in the background. Outcomes that are already urgent are still sent.
func (o *outcomes) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
