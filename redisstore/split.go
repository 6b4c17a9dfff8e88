package redisstore

import (
	"context"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// splitOp is an operation whose limits are on several slots of a Cluster. It is split into one operation per slot. They
// run one after another in the order in which the request lists its limits, but an acquire runs the slots where it frees
// units last. If a slot denies, the units already charged to
// earlier slots are given back with their handles, so that no window gains units that were not charged to it. For an
// acquire, the permits that the holder had before are restored: see split_concurrency.go.
//
// No limit is exceeded, but a denied request, or one whose process dies, can keep its cost charged to earlier slots
// for a while. Limits that count denied requests count a denial by another slot afterwards. The mode of the decision
// is "split".
type splitOp struct {
	store    *Store
	op       *engine.Op
	slotOps  []slotOp
	steps    []algo.Step // the outcome of each limit, in the request's order
	atMicros int64       // the time of the latest slot's decision
	allowed  bool
	atMost   int64 // units that OpAtMost took from each limit
	// denied is the wait in µs of a request that another slot has denied, or 0.
	denied int64
}

// slotOp is the part of a splitOp that runs on one slot.
type slotOp struct {
	op      engine.Op
	indices []int          // positions of its limits in the request
	held    []storedPermit // the permit for each limit, before an acquire
	result  engine.Answer
}

// split decides an operation whose limits are on several slots.
func (s *Store) split(ctx context.Context, op *engine.Op, result *engine.Answer) {
	x := s.splitBySlot(op)
	switch op.Kind {
	case engine.OpAllow, engine.OpReserve:
		result.Err = x.chargeInOrder(ctx)
	case engine.OpAcquire:
		result.Err = x.acquire(ctx)
	case engine.OpAtMost:
		result.Err = x.takeAtMost(ctx)
	default:
		result.Err = x.runAll(ctx)
	}
	if result.Err != nil {
		return
	}
	for i := range x.slotOps {
		result.Found = result.Found || x.slotOps[i].result.Found
		result.TTL = max(result.TTL, x.slotOps[i].result.TTL)
	}
	if op.Kind == engine.OpReset || op.Kind == engine.OpExpiry {
		return
	}
	granted := x.granted()
	result.Fill(op, x.steps, x.allowed, granted, x.atMicros)
	for n := range x.slotOps {
		part := &x.slotOps[n]
		result.Dropped = max(result.Dropped, part.result.Dropped)
		if at := part.result.AtMicros; at != x.atMicros {
			for _, i := range part.indices {
				result.Of(i).AtMicros = at
			}
		}
	}
	result.Promise = engine.Promise{Mode: engine.Split}
}

// splitBySlot makes one operation per slot.
func (s *Store) splitBySlot(op *engine.Op) *splitOp {
	x := &splitOp{store: s, op: op, steps: make([]algo.Step, len(op.Charges)), allowed: true}
	index := map[uint16]int{}
	for i := range op.Charges {
		at := s.slotOf(op, i)
		n, ok := index[at]
		if !ok {
			n = len(x.slotOps)
			index[at] = n
			x.slotOps = append(x.slotOps, newSlotOp(op, i))
		}
		charge := op.Charges[i]
		charge.Space, charge.Key = op.Subject(i)
		part := &x.slotOps[n]
		part.op.Charges = append(part.op.Charges, charge)
		if held := part.op.Reservation; held != nil {
			limit := op.Reservation.Limits[i]
			limit.Space, limit.Key = charge.Space, charge.Key
			held.Limits = append(held.Limits, limit)
		}
		if t := op.Term; t != nil && t.Estimates != nil {
			part.op.Term.Estimates = append(part.op.Term.Estimates, t.Estimates[i])
		}
		part.indices = append(part.indices, i)
	}
	return x
}

// newSlotOp returns the part of an operation that runs on the slot of charge i, without charges. Each slot records its
// own settlement, so that a settlement that reached only some of the slots can be retried. An open reservation that
// charged several slots is recorded on each of them too.
func newSlotOp(op *engine.Op, i int) slotOp {
	part := slotOp{op: engine.Op{Kind: op.Kind, ID: op.ID, Handle: op.Handle, Ahead: op.Ahead, Stage: op.Stage}}
	part.op.Space, part.op.Key = op.Counted(i)
	if op.Term != nil {
		part.op.Term = &engine.Term{Within: op.Term.Within, Then: op.Term.Then}
	}
	if r := op.Reservation; op.Kind == engine.OpSettle {
		part.op.Reservation = &engine.Reservation{ID: op.ID, Space: part.op.Space, Key: part.op.Key, Ends: r.Ends, Term: r.Term}
	}
	return part
}

// runSlot runs the operation of one slot, possibly with a different kind, and stores the outcomes of its limits.
func (x *splitOp) runSlot(ctx context.Context, n int, kind engine.Kind, taken time.Time) error {
	part := &x.slotOps[n]
	part.op.Kind, part.op.Handle = kind, taken
	part.result = engine.Answer{}
	ops, results := []engine.Op{part.op}, []engine.Answer{{}}
	p := new(pipeline) // its steps are read below, so it does not return to the pool
	p.start(x.store, ops, results)
	p.undelayed, p.denied = !x.op.Delaying(), x.denied
	p.add(0)
	p.send(ctx)
	part.result = results[0]
	if part.result.Err != nil {
		return part.result.Err
	}
	for i, at := range part.indices {
		x.steps[at] = p.steps[i]
		x.steps[at].Limit = x.op.Charges[at].Limit.Numbers()
	}
	x.atMicros = part.result.AtMicros
	return nil
}

// runAll runs the operations of all slots, for kinds of operations whose slots do not depend on each other.
func (x *splitOp) runAll(ctx context.Context) error {
	for n := range x.slotOps {
		if err := x.runSlot(ctx, n, x.op.Kind, x.op.Handle); err != nil {
			return err
		}
		if x.op.Kind != engine.OpReset && x.op.Kind != engine.OpExpiry {
			x.allowed = x.allowed && x.slotOps[n].result.Allowed
		}
	}
	return nil
}

// chargeInOrder charges one slot after another until one denies.
func (x *splitOp) chargeInOrder(ctx context.Context) error {
	for n := range x.slotOps {
		err := x.runSlot(ctx, n, x.op.Kind, time.Time{})
		if err != nil {
			x.undo(ctx, n, nil)
			return err
		}
		if !x.slotOps[n].result.Allowed {
			return x.deny(ctx, n)
		}
	}
	return nil
}

// deny gives back the charges on the slots before n, and peeks at the slots after n, so that the decision has an
// outcome for each limit. Then it counts the denial on the other slots: see countDenied.
func (x *splitOp) deny(ctx context.Context, n int) error {
	x.allowed = false
	x.undo(ctx, n, nil)
	for after := n + 1; after < len(x.slotOps); after++ {
		x.slotOps[after].subtractHeld()
		if err := x.runSlot(ctx, after, engine.OpPeek, time.Time{}); err != nil {
			return err
		}
	}
	for i := range x.steps {
		x.steps[i].Outcome.Delay = 0
	}
	x.countDenied(ctx, n)
	return nil
}

// countDenied counts a request that slot n has denied, on the limits of the other slots that count denials. Slot n
// itself has counted it already. A request is not counted if it can never pass, if a penalty denies it, or if its
// denial begins a block on n.
func (x *splitOp) countDenied(ctx context.Context, n int) {
	longest := int64(0)
	for i := range x.steps {
		wait := x.steps[i].Outcome.Wait
		if wait == algo.Never || wait > 0 && x.op.Charges[i].Limit.Punishes() {
			return
		}
		longest = max(longest, wait)
	}
	for m := range x.slotOps {
		if m != n {
			x.countOn(ctx, m, longest)
		}
	}
}

// countOn runs a slot's operation again for the charges whose limits count denials. Another slot has denied the request,
// and denied is the wait of that denial. If the slot does not answer, it does not count the denial, and its earlier
// answer remains.
func (x *splitOp) countOn(ctx context.Context, n int, denied int64) {
	part := x.slotOps[n]
	counting := slotOp{op: part.op}
	counting.op.Charges = nil
	for i, at := range part.indices {
		if c := part.op.Charges[i]; c.Cost > 0 && c.Limit.Numbers().CountDenied {
			if x.op.Kind == engine.OpAtMost {
				c.Cost = 1
			}
			counting.op.Charges, counting.indices = append(counting.op.Charges, c), append(counting.indices, at)
		}
	}
	if len(counting.indices) > 0 {
		one := splitOp{store: x.store, op: x.op, steps: x.steps, slotOps: []slotOp{counting}, denied: denied}
		_ = one.runSlot(ctx, 0, engine.OpAllow, time.Time{})
		x.atMicros = max(x.atMicros, one.atMicros)
	}
}

// takeAtMost takes from each slot at most as many units as the earlier slots granted, and then returns everything above
// the minimum of all slots. If a slot grants no units, the request is denied.
func (x *splitOp) takeAtMost(ctx context.Context) error {
	least := x.op.Units()
	for n := range x.slotOps {
		if x.slotOps[n].op.Units() == 0 {
			if err := x.runSlot(ctx, n, engine.OpPeek, time.Time{}); err != nil {
				return err
			}
			continue
		}
		x.setCost(n, least)
		err := x.runSlot(ctx, n, engine.OpAtMost, time.Time{})
		if err != nil {
			x.undo(ctx, n, nil)
			return err
		}
		least = x.slotOps[n].result.Granted
		if least == 0 {
			for after := n + 1; after < len(x.slotOps); after++ {
				x.setCost(after, 1)
			}
			return x.deny(ctx, n)
		}
	}
	x.atMost = least
	x.undo(ctx, len(x.slotOps), &least)
	return nil
}

// setCost sets all costs above 0 in a slot's operation to cost.
func (x *splitOp) setCost(n int, cost int64) {
	charges := x.slotOps[n].op.Charges
	for i := range charges {
		if charges[i].Cost > 0 {
			charges[i].Cost = cost
		}
	}
}

// granted returns the number of units that the decision grants.
func (x *splitOp) granted() int64 {
	switch {
	case !x.allowed:
		return 0
	case x.op.Kind == engine.OpAllow || x.op.Kind == engine.OpReserve || x.op.Kind == engine.OpAcquire:
		return x.op.Units()
	case x.op.Kind == engine.OpAtMost:
		return x.atMost
	default:
		return 0
	}
}
