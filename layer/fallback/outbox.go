package fallback

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// maxOutbox bounds the number of operations owed to the store. Operations of one kind on one namespace can use half of
	// it, those of another half of the rest, and so on: a client that releases permits that nobody has, or acquires for
	// keys that it makes up, must not use up the room of others. Beyond the bound a settlement returns an error, a share
	// grants no permit, and a permit whose acquire got no answer stays until its lease ends.
	maxOutbox = 1 << 16
	// outboxBatch is the number of owed operations sent in one call.
	outboxBatch = 256
	// firstTry is the delay before the first attempt. It doubles with each further attempt, up to lastTry.
	firstTry = 50 * time.Millisecond
	lastTry  = 5 * time.Second
)

// outbox contains the operations to send to the store as soon as it answers: settlements that it missed, permits that
// shares granted, and releases of permits that the store may have granted to callers that got no answer.
type outbox struct {
	mu      sync.Mutex
	ops     map[outboxKey]*outboxOp
	parts   map[outboxPart]int // number of ops
	outside map[outboxKey]int  // by space and key: number of permits that shares granted and the store does not have
	count   atomic.Int64       // number of owed operations
	permits atomic.Int64       // number of permits among them
	lost    atomic.Int64       // number of settlements whose reservations ended first
	given   atomic.Int64       // number of permits ever granted by shares
	wake    chan struct{}
}

// outboxKey names a permit or a reservation. If its id is empty, it names a key.
type outboxKey struct {
	settles        bool
	space, key, id string
}

// outboxPart is a kind of operations on one namespace.
type outboxPart struct {
	kind  engine.Kind
	space string
}

// outboxOp is one operation owed to the store.
type outboxOp struct {
	op        engine.Op
	ends      int64 // when it becomes irrelevant, in µs since 1970
	due       int64
	pause     time.Duration
	sent      bool // the store may have decided it
	delivered bool // the store has this permit; it is owed again if the store misses a renewal

	flying    chan struct{} // closed when the call that carries it has an answer; nil if there is no such call
	suspended int           // number of acquires of the same permit in progress, while its release is not sent
}

// asked returns the operation to send. A permit is acquired for the rest of its lease, even if it exceeds the limit.
func (d *outboxOp) asked(now int64) engine.Op {
	op := d.op
	if op.Kind != engine.OpAcquire {
		return op
	}
	left := time.Duration(max(1, d.ends-now)) * time.Microsecond
	op.Charges = slices.Clone(op.Charges)
	for i := range op.Charges {
		op.Charges[i].Limit = engine.MostPermits(op.Charges[i].Limit, left)
	}
	return op
}

func partOf(op *engine.Op) outboxPart { return outboxPart{kind: op.Kind, space: op.Space} }

func nameOf(op *engine.Op) outboxKey {
	return outboxKey{settles: op.Kind == engine.OpSettle, space: op.Space, key: op.Key, id: op.ID}
}

// subjects returns the namespaces and keys of the counters of an operation's limits.
func subjects(op *engine.Op) []outboxKey {
	names := make([]outboxKey, len(op.Charges))
	for i := range op.Charges {
		names[i].space, names[i].key = op.Counted(i)
	}
	return names
}

// add adds an operation, or replaces an earlier operation on the same permit. The first settlement of a reservation
// counts, so it stays. add returns false if there is no room. sent means that the store may have decided the
// operation, and delivered means that it has.
func (o *outbox) add(op *engine.Op, ends, now int64, sent, delivered bool) bool {
	own := op.Clone()
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(&own)
	before := o.ops[name]
	if before == nil && o.parts[partOf(&own)] >= maxOutbox-len(o.ops) {
		return false
	}
	if before != nil && name.settles {
		return true
	}
	o.remove(name, before)
	if o.ops == nil {
		o.ops, o.parts, o.outside = map[outboxKey]*outboxOp{}, map[outboxPart]int{}, map[outboxKey]int{}
	}
	d := &outboxOp{op: own, ends: ends, due: now, pause: firstTry, sent: sent, delivered: delivered}
	o.ops[name] = d
	o.parts[partOf(&own)]++
	if !delivered {
		o.open(d)
	}
	return true
}

// open counts an operation to send to the store. The caller holds the lock.
func (o *outbox) open(d *outboxOp) {
	o.count.Add(1)
	if d.op.Kind == engine.OpAcquire {
		o.permits.Add(1)
		for _, subject := range subjects(&d.op) {
			o.outside[subject]++
		}
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// remove removes an operation. The caller holds the lock.
func (o *outbox) remove(name outboxKey, d *outboxOp) {
	if d == nil || o.ops[name] != d {
		return
	}
	delete(o.ops, name)
	if of := partOf(&d.op); o.parts[of] > 1 {
		o.parts[of]--
	} else {
		delete(o.parts, of)
	}
	if !d.delivered {
		o.closed(d)
	}
}

// closed updates the counts after an operation that no longer needs to be sent. The caller holds the lock.
func (o *outbox) closed(d *outboxOp) {
	o.count.Add(-1)
	if d.op.Kind != engine.OpAcquire {
		return
	}
	o.permits.Add(-1)
	for _, subject := range subjects(&d.op) {
		if o.outside[subject]--; o.outside[subject] == 0 {
			delete(o.outside, subject)
		}
	}
}

// holds reports whether a share granted a permit for one of the operation's keys and the store does not have that
// permit.
func (o *outbox) holds(op *engine.Op) bool {
	if o.permits.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(subjects(op), func(subject outboxKey) bool { return o.outside[subject] > 0 })
}

// suspend holds back the releases of permits that the operations acquire again, and waits for releases in flight. A
// release that reached the store after the acquire would take the permit from its holder. The caller must pass the
// result to resume.
func (o *outbox) suspend(ctx context.Context, ops []engine.Op) (suspended []*outboxOp) {
	if o.count.Load() == 0 {
		return nil
	}
	for i := range ops {
		acquire, holds := ops[i].Acquires()
		if !holds || ops[i].Kind == engine.OpSettle {
			continue
		}
		o.mu.Lock()
		d := o.ops[nameOf(&acquire)]
		if d == nil || d.op.Kind != engine.OpRelease {
			o.mu.Unlock()
			continue
		}
		d.suspended++
		flying := d.flying
		o.mu.Unlock()
		if suspended = append(suspended, d); flying != nil {
			select {
			case <-flying:
			case <-ctx.Done():
			}
		}
	}
	return suspended
}

// resume lets suspended releases be sent. A release was removed by held if its permit was acquired in the meantime.
func (o *outbox) resume(suspended []*outboxOp) {
	if suspended == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range suspended {
		d.suspended--
	}
}

// held cancels the queued release of a permit, because the holder has acquired the permit again.
func (o *outbox) held(op *engine.Op) {
	if o.count.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(op)
	if d := o.ops[name]; d != nil && d.op.Kind == engine.OpRelease {
		o.remove(name, d)
	}
}

// renewed extends a permit that a share granted. The argument ends is the new end of the permit. missed means that
// the store has not renewed the permit, so it must be sent to the store again, with the new end.
func (o *outbox) renewed(op *engine.Op, ends, now int64, missed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.ops[nameOf(op)]
	if d == nil || d.op.Kind != engine.OpAcquire {
		return
	}
	d.ends = ends
	if missed && d.delivered {
		d.delivered, d.due, d.pause = false, now, firstTry
		o.open(d)
	}
}

// granted reports whether a share granted a permit, alone or as well as the store.
func (o *outbox) granted(op *engine.Op) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.ops[nameOf(op)]
	return d != nil && d.op.Kind == engine.OpAcquire
}

// settled reports whether a settlement of the operation's reservation is owed to the store.
func (o *outbox) settled(op *engine.Op) bool {
	if o.count.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ops[nameOf(op)] != nil
}

// drop removes a permit that a share granted. outside is set if the store was not known to have the permit, and sent is
// set if the store may have it anyway.
func (o *outbox) drop(op *engine.Op) (outside, sent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(op)
	d := o.ops[name]
	if d == nil || d.op.Kind != engine.OpAcquire {
		return false, false
	}
	o.remove(name, d)
	return !d.delivered, d.sent
}

// take returns operations that are due and wanted, up to outboxBatch, and marks them as sent. It drops operations that
// no longer matter. flying contains the calls in flight that carry other due operations: the background goroutine and
// each lane that comes back send operations concurrently, and an operation may be in only one call.
func (o *outbox) take(now int64, wanted func(*engine.Op) bool) (taken []*outboxOp, flying []chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, d := range o.ops {
		switch {
		case now >= d.ends:
			if o.remove(name, d); d.op.Kind == engine.OpSettle {
				o.lost.Add(1)
			}
		case d.delivered || d.suspended > 0 || now < d.due || !wanted(&d.op):
		case d.flying != nil:
			flying = append(flying, d.flying)
		case len(taken) < outboxBatch:
			d.sent, d.flying = true, make(chan struct{})
			taken = append(taken, d)
		}
	}
	return taken, flying
}

// answered removes the operations that the store has decided, except for permits, which it marks as delivered. A
// release that found no permit is repeated, because the acquire may arrive after it. An acquire that was denied is
// repeated too. away is set if an operation got another error than [engine.ErrInvalid].
func (o *outbox) answered(taken []*outboxOp, results []engine.Answer, now int64) (away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, d := range taken {
		close(d.flying)
		d.flying = nil
		r := &results[i]
		taken := r.Err == nil
		missed := d.op.Kind == engine.OpRelease && !r.Found || d.op.Kind == engine.OpAcquire && !r.Allowed
		switch {
		case taken && !missed && d.op.Kind == engine.OpAcquire && o.ops[nameOf(&d.op)] == d:
			d.delivered = true
			o.closed(d)
			continue
		case taken && !missed || errors.Is(r.Err, engine.ErrInvalid):
			o.remove(nameOf(&d.op), d)
			continue
		}
		away = away || r.Err != nil
		d.due, d.pause = now+d.pause.Microseconds(), min(2*d.pause, lastTry)
	}
	return away
}

// await waits until the channels are closed or life ends.
func await(life context.Context, all []chan struct{}) {
	for _, one := range all {
		select {
		case <-one:
		case <-life.Done():
			return
		}
	}
}

// flushOutbox sends owed operations to the store, until life ends. It pauses after each attempt, because an attempt looks
// at all of them (regression: bug 277).
func (s *Store) flushOutbox(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-s.outbox.wake:
		}
		for s.outbox.count.Load() > 0 && life.Err() == nil {
			s.flush(life, func(op *engine.Op) bool { return !s.lanes.away(op, -1) })
			select {
			case <-life.Done():
			case <-time.After(firstTry):
			}
		}
	}
}

// flush sends due operations until none is left or the store does not answer. It also waits for calls in flight
// that carry such operations, so that a lane decides only after its own operations have arrived.
func (s *Store) flush(life context.Context, wanted func(*engine.Op) bool) {
	for life.Err() == nil {
		taken, flying := s.outbox.take(s.now(), wanted)
		if len(taken) == 0 {
			if len(flying) == 0 {
				return
			}
			await(life, flying)
			continue
		}
		ops, results := make([]engine.Op, len(taken)), make([]engine.Answer, len(taken))
		for i, d := range taken {
			ops[i] = d.asked(s.now())
		}
		ctx, cancel := context.WithTimeout(life, s.config.Slow)
		s.store.Do(ctx, ops, results)
		cancel()
		if s.outbox.answered(taken, results, s.now()) {
			return
		}
	}
}
