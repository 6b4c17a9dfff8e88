package fallback

import (
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// permits says until when permits that were given by shares can be alive. They live here:
// the store knows nothing of them, also when it is back.
type permits struct{ until atomic.Int64 } // in µs since 1970

// given notes a permit of an operation.
func (p *permits) given(op *engine.Op, now int64) {
	for i := range op.Charges {
		ends := now + op.Charges[i].Limit.Numbers().Period
		for until := p.until.Load(); until < ends && !p.until.CompareAndSwap(until, ends); {
			until = p.until.Load()
		}
	}
}

// alive reports whether such a permit can be alive.
func (p *permits) alive(now int64) bool { return now < p.until.Load() }

// hold gives a permit of a share.
func (s *Store) hold(own *engine.Op) (r engine.Result) {
	now := s.now()
	for i := range own.Charges {
		limit := own.Charges[i].Limit
		// Less than one unit is this process's, or a process before it may have given permits
		// that are still held.
		wait, early := again, s.began+limit.Numbers().Period-now
		if limit.Algorithm() != algo.DenyAll {
			wait = time.Duration(early) * time.Microsecond
		}
		if limit.Algorithm() == algo.DenyAll || early > 0 {
			r.Outcome = engine.Outcome{AtMicros: now, Binding: i, Standing: engine.Standing{Limit: limit.Capacity(), RetryAfter: wait}}
			return r
		}
	}
	if r = s.alone(own); r.Err == nil && r.Outcome.Allowed {
		s.permits.given(own, now)
	}
	return r
}

// keep renews or releases a permit that a share gave, and reports whether it did.
func (s *Store) keep(op *engine.Op, r *engine.Result) bool {
	n := int64(s.processes.count())
	if n == 0 {
		return false
	}
	own := s.shares(op, n, nil)
	for i := range own.op.Charges {
		if c := &own.op.Charges[i]; c.Limit.Algorithm() == algo.DenyAll {
			c.Limit = op.Charges[i].Limit // the number has changed since; its units do not matter here
		}
	}
	answer := s.alone(&own.op)
	renewed := op.Kind == engine.OpRenew && answer.Outcome.Allowed
	if answer.Err != nil || !renewed && !answer.Found {
		return false
	}
	if renewed {
		s.permits.given(&own.op, s.now())
	}
	*r = answer
	r.Outcome.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: own.bound}
	return true
}

// keepOwn renews and releases permits that shares gave, and returns the answers by the place of
// the operation. The store gets the operations too: it may have the permit as well.
func (s *Store) keepOwn(ops []engine.Op, results []engine.Result) (kept map[int]engine.Result) {
	for i := range ops {
		var r engine.Result
		if (ops[i].Kind == engine.OpRenew || ops[i].Kind == engine.OpRelease) && results[i].Err == nil && s.keep(&ops[i], &r) {
			if kept == nil {
				kept = make(map[int]engine.Result)
			}
			kept[i] = r
		}
	}
	return kept
}

// releaseShare gives up the permit of a share, whose operation the store has not allowed.
func (s *Store) releaseShare(op *engine.Op) {
	release := *op
	release.Kind = engine.OpRelease
	s.keep(&release, new(engine.Result))
}
