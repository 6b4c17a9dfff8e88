package core

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Outcome reports how an allowed request of the key ended, for limits with adaptive rates. failed means that the service
// was overloaded or broken. No request passes until retryAfter is over.
//
// This process adds up the outcomes of a key and sends them to the store with the key's next request, if that comes
// within a minute; a retryAfter is sent in the background. It keeps the outcomes of at most 1024 keys, and drops those of
// any other key.
func (p *Policy) Outcome(key string, failed bool, retryAfter time.Duration) {
	if !p.adapts {
		return
	}
	of := subject{p.space, key}
	p.limiter.outcomes.add(of, failed, retryAfter)
	if retryAfter > 0 {
		p.limiter.sendSoon(of, p.Charges(nil, 0))
	}
}

const (
	maxOutcomes = 1024 // keys
	outcomeAge  = time.Minute
)

// outcomes holds the reports that have not been sent to the store yet.
type outcomes struct {
	mu    sync.Mutex
	of    map[subject]*tally
	count atomic.Int64 // the number of keys, so that a request needs no lock if there are no outcomes
	now   func() time.Time

	urgent  map[subject][]engine.Charge // keys with a pause to send now, and the charges that carry the report
	sending bool
	closed  bool
}

type tally struct {
	good, bad int64
	paused    time.Time // no request should pass before then
	last      time.Time
}

func (o *outcomes) add(of subject, failed bool, retryAfter time.Duration) {
	now := o.now()
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.of[of]
	if t == nil {
		if len(o.of) == maxOutcomes {
			o.forget(now)
		}
		if len(o.of) == maxOutcomes {
			return
		}
		if o.of == nil {
			o.of = map[subject]*tally{}
		}
		t = &tally{}
		o.of[of] = t
		o.count.Store(int64(len(o.of)))
	}
	if t.last = now; failed {
		t.bad = min(t.bad+1, algo.MaxReported)
	} else {
		t.good = min(t.good+1, algo.MaxReported)
	}
	if until := now.Add(retryAfter); retryAfter > 0 && until.After(t.paused) {
		t.paused = until
	}
}

// Outcomes returns a function that reports, for the operation's keys, how an allowed request ended. It returns nil if no
// limit has an adaptive rate.
func (l *Limiter) Outcomes(op *engine.Op) (report func(failed bool, retryAfter time.Duration)) {
	var of map[subject][]engine.Charge
	for i := range op.Charges {
		limit := op.Charges[i].Limit
		if !limit.Algorithm().Adapts() {
			continue
		}
		if of == nil {
			of = map[subject][]engine.Charge{}
		}
		space, key := op.Subject(i)
		s := subject{space, strings.Clone(key)}
		of[s] = append(of[s], engine.Charge{Limit: limit})
	}
	if of == nil {
		return nil
	}
	return func(failed bool, retryAfter time.Duration) {
		for s, charges := range of {
			l.outcomes.add(s, failed, retryAfter)
			if retryAfter > 0 {
				l.sendSoon(s, charges)
			}
		}
	}
}

// forget drops the outcomes of keys that had no report for longer than outcomeAge.
func (o *outcomes) forget(now time.Time) {
	for of, t := range o.of {
		if now.Sub(t.last) > outcomeAge {
			delete(o.of, of)
		}
	}
}

// take removes and returns the report for a key. It returns nil if there is no report for the key.
func (o *outcomes) take(of subject, now time.Time) *algo.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.of[of]
	if t == nil {
		return nil
	}
	delete(o.of, of)
	o.count.Store(int64(len(o.of)))
	if now.Sub(t.last) > outcomeAge {
		return nil
	}
	r := &algo.Report{Good: t.good, Bad: t.bad}
	if left := t.paused.Sub(now); left > 0 {
		r.Pause = min(left.Microseconds(), algo.MaxReportedPause)
	}
	return r
}

// attach adds the pending outcomes of an operation's keys, if the operation can carry reports and does not belong to a
// shadow.
func (o *outcomes) attach(op *engine.Op) {
	if op.Hints.Shadow || !op.Kind.Reports() {
		return
	}
	var last subject
	var report *algo.Report
	for i := range op.Charges {
		c := &op.Charges[i]
		if !c.Limit.Algorithm().Adapts() || c.Report != nil {
			continue
		}
		var of subject
		if of.space, of.key = op.Subject(i); of != last {
			report, last = o.take(of, o.now()), of
		}
		c.Report = report
	}
}

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
