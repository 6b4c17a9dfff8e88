package fallback

import (
	"context"
	"slices"

	"github.com/headgate/headgate/engine"
)

// doubted is an operation on limits that have not recovered from a loss of the store's data, and what this process's
// memory answers.
type doubted struct {
	*shares

	answer engine.Answer
}

// doubt decides operations while some limits have not recovered from a loss of the store's data. Keys of these limits
// that this process remembers pass if both the memory and the store allow them (regression: bug 57). The store decides
// the others alone, and with [engine.Hints].Lenient all of them. If it does not answer, the shares decide.
func (s *Store) doubt(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if err := ctx.Err(); err != nil {
		engine.Fail(results, err)
		return
	}
	rest := newRest()
	defer rest.free()
	asked := make(map[int]*doubted)
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		if !s.doubts(&ops[i]) {
			rest.Add(i)
			continue
		}
		own := s.held(&ops[i])
		if !own.answer.Allowed {
			results[i] = own.outcome(&ops[i], &own.answer)
			continue
		}
		asked[i] = own
		rest.Add(i)
		if less, ok := own.within(&ops[i]); ok {
			rest.Replace(less)
		}
	}
	rest.Do(ctx, s.observed, ops, results)
	for _, i := range rest.From {
		if own := asked[i]; own != nil {
			s.join(&ops[i], &results[i], own)
		}
	}
	s.rememberAll(ops, results) // only of limits that have recovered
	s.fallBack(ops, results)
}

// held decides an operation by what this process remembers of its keys. The bound is what the loss can let through again.
func (s *Store) held(op *engine.Op) *doubted {
	own := &doubted{shares: ownOp(op)}
	wanted, known, any := s.unrecovered(op), make([]bool, len(op.Charges)), false
	for i := range op.Charges {
		if wanted(i) {
			own.bound = max(own.bound, op.Charges[i].Limit.Numbers().LossBound())
			known[i] = !op.Hints.Lenient && s.remembers(op, i)
			any = any || known[i]
		}
	}
	n, _ := s.processes.count()
	for i := range op.Charges {
		switch limit := op.Charges[i].Limit; {
		case !wanted(i) || op.Hints.Lenient:
		case limit.Algorithm().Holds() && n > 0: // the share knows the permits that this process granted
			own.add(op, i, engine.Shares(limit, n)[0])
		case known[i] || any && op.Chosen():
			for _, whole := range engine.Shares(limit, 1) {
				charge := own.add(op, i, whole)
				charge.Space, charge.Key = heldBy(op, i)
			}
		}
	}
	if len(own.of) > 0 {
		own.answer = s.grant(&own.op)
	}
	if len(own.of) == 0 || own.answer.Err != nil { // nothing is remembered, or there is no room for it: the store decides
		own.of, own.answer = nil, engine.Answer{Allowed: true, Granted: op.Units()}
	}
	return own
}

// heldBy returns the namespace and key of the counter in this process that holds a key of an operation to its units.
func heldBy(op *engine.Op, charge int) (space, key string) {
	space, key = op.Counted(charge)
	return "held:" + space, key
}

// remembers reports whether a key of an operation is held to the units that it had before the store lost its data. The
// first operation after the loss makes the counter, which is a bucket with the limit's capacity and rate for each of
// its windows. A counter that has refilled holds nothing.
func (s *Store) remembers(op *engine.Op, charge int) (found bool) {
	limit := op.Charges[charge].Limit
	if a := limit.Algorithm(); a.Holds() || a.Constant() || a.Punishes() {
		return false
	}
	space, key := heldBy(op, charge)
	for window, whole := range engine.Shares(limit, 1) {
		hash, p, lock := s.known.at(op, charge, window)
		lock.Lock()
		if units, known := s.left(hash, p, limit, begunHeld); known {
			s.lower(space, key, whole, units)
		}
		lock.Unlock()
		peek := engine.Single(engine.OpPeek, key, whole, 0)
		peek.Space = space
		answer := s.alone(&peek)
		found = found || answer.Err == nil && answer.Binds().Remaining < whole.Capacity()
	}
	return found
}

// release drops the counters that hold a key of an operation to its units.
func (s *Store) release(op *engine.Op, charge int) {
	space, key := heldBy(op, charge)
	for _, whole := range engine.Shares(op.Charges[charge].Limit, 1) {
		reset := engine.Single(engine.OpReset, key, whole, 0)
		reset.Space = space
		s.alone(&reset)
	}
}

// within returns the operation to send to the store, limited to what the memory has granted: no more units, no other
// choice, and no delay, because a delay would depend on earlier charges. ok is false if the store gets the operation
// unchanged.
func (own *doubted) within(op *engine.Op) (less engine.Op, ok bool) {
	less = *op
	switch {
	case len(own.of) == 0:
		return less, false
	case own.answer.Choice != 0: // no token bucket delays a reserve with choices
		less.Charges = chosen(op, own.answer.Choice)
		return less, true
	case op.Kind == engine.OpReserve && op.Ahead > 0:
		less.Ahead = 0
		return less, true
	case op.Kind == engine.OpAtMost && own.answer.Granted < op.Units():
		less.Charges = append([]engine.Charge(nil), op.Charges...)
		for i := range less.Charges {
			less.Charges[i].Cost = min(less.Charges[i].Cost, own.answer.Granted)
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

// join combines the store's answer, d, with the memory's, which has allowed the operation. An operation without an answer
// stays charged to the memory, because a share can still allow it.
func (s *Store) join(op *engine.Op, d *engine.Answer, own *doubted) {
	passed := d.Err == nil && d.Allowed
	permits, holds := op.Acquires()
	switch {
	case len(own.of) == 0:
	case holds && passed:
		s.both(&permits)
	case holds:
		s.releaseShare(&permits)
	case own.op.Kind.Takes() && d.Err == nil:
		s.giveBack(own, d)
	}
	if d.Err != nil {
		return
	}
	d.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: own.bound}
	if passed {
		d.Delay = max(d.Delay, own.answer.Delay)
	}
	if made := own.answer.Choice; made != 0 {
		for i := range d.Len() {
			d.Of(i).Unchosen = op.Charges[i].Choice != 0 && op.Charges[i].Choice != made
		}
	}
	if passed && settleable(op) && len(own.of) > 0 {
		d.ByShares = s.chargedBoth(op, d, own)
	}
	for counter, i := range own.of {
		if known := own.answer.Of(counter); passed && !holds && known.Remaining < d.Of(i).Remaining {
			d.Of(i).Remaining, d.Of(i).ResetAfter = known.Remaining, known.ResetAfter
		}
	}
}

// giveBack returns to the memory the units that the store has not charged.
func (s *Store) giveBack(own *doubted, d *engine.Answer) {
	give := own.op
	give.Kind, give.Charges = engine.OpGive, nil
	for _, c := range own.op.Charges {
		charged, kept := c.Cost, int64(0)
		switch {
		case own.op.Kind == engine.OpAtMost:
			charged, kept = own.answer.Granted, d.Granted
		case d.Allowed:
			kept = c.Cost
		}
		if c.Choice != 0 && c.Choice != own.answer.Choice || kept >= charged {
			continue
		}
		c.Choice, c.Cost = 0, charged-kept
		give.Charges = append(give.Charges, c)
	}
	if len(give.Charges) > 0 {
		s.alone(&give)
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

// unrecovered returns a predicate for the limits of the operation that have not recovered from a loss of the store's
// data. The other limits do not wait for them. If there are choices, all limits recover together: the memory chooses
// among them, and the store gets the same choice.
func (s *Store) unrecovered(op *engine.Op) func(charge int) bool {
	lost, now := s.lost(), s.now()
	of := func(i int) bool {
		if lost == 0 {
			return false
		}
		until := op.Charges[i].Limit.Numbers().RecoversAt(lost)
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
