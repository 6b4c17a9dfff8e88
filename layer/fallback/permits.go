package fallback

import (
	"sync/atomic"

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
	now := s.config.Memory.Clock().UnixMicro()
	for i := range own.Charges {
		if own.Charges[i].Limit.Algorithm() == algo.DenyAll { // less than one unit is this process's
			r.Outcome = engine.Outcome{AtMicros: now, Standing: engine.Standing{RetryAfter: again}}
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
	own, bound := shares(op, n)
	for i := range own.Charges {
		if c := &own.Charges[i]; c.Limit.Algorithm() == algo.DenyAll {
			c.Limit = op.Charges[i].Limit // the number has changed since; its units do not matter here
		}
	}
	answer := s.alone(&own)
	renewed := op.Kind == engine.OpRenew && answer.Outcome.Allowed
	if answer.Err != nil || !renewed && !answer.Found {
		return false
	}
	if renewed {
		s.permits.given(&own, s.config.Memory.Clock().UnixMicro())
	}
	*r = answer
	r.Outcome.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: bound}
	return true
}

// keepOwn answers the renewals and releases of permits that shares gave, and reports which
// operations are left.
func (s *Store) keepOwn(ops []engine.Op, results []engine.Result) (left []int, any bool) {
	for i := range ops {
		kept := (ops[i].Kind == engine.OpRenew || ops[i].Kind == engine.OpRelease) && results[i].Err == nil && s.keep(&ops[i], &results[i])
		any = any || kept
		if !kept {
			left = append(left, i)
		}
	}
	return left, any
}
