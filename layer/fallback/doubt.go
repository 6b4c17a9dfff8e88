package fallback

import (
	"context"
	"slices"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/forward"
)

var rests = sync.Pool{New: func() any { return new(forward.Subset) }}

// observed is a store that reports its answers to the breaker.
type observed struct{ *Store }

func (o observed) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	o.store.Do(ctx, ops, results)
	o.observe(ops, results)
}

// doubt decides operations while some limits have not recovered from a loss of the store's data. Operations on these
// limits pass if both the share and the store allow them (regression: bug 57). If the store does not answer, the share
// decides alone. With [engine.Hints].Lenient the store decides alone.
func (s *Store) doubt(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if err := ctx.Err(); err != nil {
		fail(results, err)
		return
	}
	rest := rests.Get().(*forward.Subset)
	defer func() {
		rest.Clear()
		rests.Put(rest)
	}()
	shared := make(map[int]engine.Answer)
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		if !s.doubts(&ops[i]) {
			rest.Add(i)
			continue
		}
		r := s.shareInDoubt(&ops[i])
		if r.Err != nil || !r.Allowed {
			results[i] = r
			continue
		}
		shared[i] = r
		rest.Add(i)
		if less, ok := withinShare(&ops[i], &r); ok {
			rest.Replace(less)
		}
	}
	if len(rest.From) == 0 {
		return
	}
	rest.Do(ctx, observed{s}, ops, results)
	for i := range shared {
		r := shared[i]
		s.join(&ops[i], &results[i], &r)
	}
	s.fallBack(ops, results) // operations on limits that have recovered
}

// shareInDoubt decides an operation by the shares of those of its limits that have not recovered. With
// [engine.Hints].Lenient it allows every operation, and only computes the bound. The bound is one capacity higher than
// in an outage, because the store may have lost that many charged units.
func (s *Store) shareInDoubt(op *engine.Op) (r engine.Answer) {
	if op.Hints.Lenient {
		r = engine.Answer{Allowed: true, Granted: op.Units(), Promise: engine.Promise{Mode: engine.Fallback}}
		for i := range op.Charges {
			limit := op.Charges[i].Limit
			r.Promise.OvershootMax = max(r.Promise.OvershootMax, engine.SharesBound(limit, int64(s.processes.count()))+limit.Numbers().MostCharged())
		}
		return r
	}
	wanted := s.unrecovered(op)
	if s.share(op, &r, wanted); r.Err != nil {
		return r
	}
	forgotten := int64(0)
	for i := range op.Charges {
		if wanted(i) {
			forgotten = max(forgotten, op.Charges[i].Limit.Numbers().MostCharged())
		}
	}
	r.Promise.OvershootMax += forgotten
	return r
}

// withinShare returns the operation to send to the store, limited to what the share has granted: no more units, no
// other choice, and no delay, because a delay would depend on earlier charges. ok is false if the store gets the
// operation unchanged.
func withinShare(op *engine.Op, share *engine.Answer) (less engine.Op, ok bool) {
	less = *op
	switch {
	case share.Choice != 0: // no token bucket delays a reserve with choices
		less.Charges = chosen(op, share.Choice)
		return less, true
	case op.Kind == engine.OpReserve && op.Ahead > 0:
		less.Ahead = 0
		return less, true
	case op.Kind == engine.OpAtMost && share.Granted < op.Units():
		less.Charges = append([]engine.Charge(nil), op.Charges...)
		for i := range less.Charges {
			less.Charges[i].Cost = min(less.Charges[i].Cost, share.Granted)
		}
		return less, true
	default:
		return less, false
	}
}

// chosen returns the charges of an operation under a choice. Charges of the other choices have no cost.
func chosen(op *engine.Op, choice uint8) []engine.Charge {
	charges := slices.Clone(op.Charges)
	for i := range charges {
		if c := &charges[i]; c.Choice != 0 && c.Choice != choice {
			c.Choice, c.Cost = 0, 0
		}
	}
	return charges
}

// join combines the store's answer, d, with the share's answer. The share has allowed the operation.
func (s *Store) join(op *engine.Op, d, share *engine.Answer) {
	promise := share.Promise
	passed := d.Err == nil && d.Allowed
	stands := d.Err != nil && s.decides(op) && !op.Hints.Lenient && engine.Away(d.Err)
	permits, holds := op.Permits()
	asked := &permits
	if op.Kind == engine.OpAcquire {
		asked = op
	}
	switch {
	case !holds && op.Kind != engine.OpAcquire || op.Hints.Lenient:
	case passed:
		s.both(asked)
	default:
		s.releaseShare(asked)
	}
	if made := share.Choice; made != 0 {
		for i := range d.Len() {
			d.Of(i).Unchosen = op.Charges[i].Choice != 0 && op.Charges[i].Choice != made
		}
	}
	switch {
	case stands && (holds || !s.doubtsAll(op)):
		// So far the share has decided only the limits that have not recovered. Now it must decide all limits, and the
		// store must get the share's permits.
		s.share(op, d, nil)
		d.Promise.OvershootMax = max(d.Promise.OvershootMax, promise.OvershootMax)
	case stands:
		*d = *share
	case d.Err != nil:
	case !passed || op.Hints.Lenient || op.Kind == engine.OpAcquire || settleable(op):
		d.Promise = promise // the handle is still the store's
		if passed {
			d.ByShares = beside(share.ByShares)
		}
	case op.Kind == engine.OpAtMost || op.Kind == engine.OpCount:
		granted := d.Granted
		*d = *share
		d.Granted = granted
	default:
		*d = *share
	}
}

// doubts reports whether the operation takes or reports units, and one of its limits has not recovered from a loss of
// the store's data.
func (s *Store) doubts(op *engine.Op) bool {
	if !op.Kind.Takes() && op.Kind != engine.OpPeek {
		return false
	}
	wanted := s.unrecovered(op)
	for i := range op.Charges {
		if wanted(i) {
			return true
		}
	}
	return false
}

// doubtsAll reports whether none of the operation's limits has recovered.
func (s *Store) doubtsAll(op *engine.Op) bool {
	wanted := s.unrecovered(op)
	for i := range op.Charges {
		if !wanted(i) {
			return false
		}
	}
	return true
}

// unrecovered returns a predicate for the limits of the operation that have not recovered from a loss of the store's
// data. The other limits do not wait for them. If there are choices, all limits recover together: the shares choose
// among them, and the store gets the same choice.
func (s *Store) unrecovered(op *engine.Op) func(charge int) bool {
	lost, now := s.member.Lost(), s.now()
	of := func(i int) bool {
		if lost == 0 {
			return false
		}
		until := lost + engine.Depth(op.Charges[i].Limit)
		if now >= until {
			return false
		}
		for before := s.doubted.Load(); before < until && !s.doubted.CompareAndSwap(before, until); before = s.doubted.Load() {
		}
		return true
	}
	if !op.Chosen() {
		return of
	}
	any := false
	for i := range op.Charges {
		any = any || of(i)
	}
	return func(int) bool { return any }
}
