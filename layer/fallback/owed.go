package fallback

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// maxOwed bounds what the store is owed, in operations. Beyond it a settlement is an error, a share
	// gives no permit, and a permit whose acquire has no answer stays until its lease ends.
	maxOwed = 1 << 16
	// owedAtOnce is how many of them one call has.
	owedAtOnce = 256
	// firstTry is after how long the store is told, and told again with twice the pause each time.
	firstTry = 50 * time.Millisecond
	lastTry  = 5 * time.Second
)

// owed is what the store has to be told as soon as it answers: settlements that it did not take,
// permits that shares gave, and permits that it may have given to callers that have no answer.
type owed struct {
	mu      sync.Mutex
	debts   map[owedKey]*debt
	outside map[owedKey]int // by space and key: permits that shares gave, and the store does not have
	count   atomic.Int64    // of debts
	permits atomic.Int64    // of permits among them
	lost    atomic.Int64    // settlements whose reservations ended first
	given   atomic.Int64    // permits that shares gave, ever
	wake    chan struct{}
}

// owedKey names a permit or a reservation, and without an id a key.
type owedKey struct {
	settles        bool
	space, key, id string
}

// debt is one operation that the store is owed.
type debt struct {
	op    engine.Op
	ends  int64 // from when on it changes nothing, in µs since 1970
	due   int64
	pause time.Duration
	sent  bool // the store may have decided it
	paid  bool // a permit that the store has: it is owed again where the store misses a renewal
}

// asked returns the operation that the store gets: a permit for the rest of its lease, and above the limit.
func (d *debt) asked(now int64) engine.Op {
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

func nameOf(op *engine.Op) owedKey {
	return owedKey{settles: op.Kind == engine.OpSettle, space: op.Space, key: op.Key, id: op.ID}
}

// subjects returns the names of the keys of an operation.
func subjects(op *engine.Op) []owedKey {
	names := make([]owedKey, len(op.Charges))
	for i := range op.Charges {
		names[i].space, names[i].key = op.Subject(i)
	}
	return names
}

// add adds an operation, which takes the place of another one on its permit. sent says that the store
// may have decided it, and paid that it has. It reports false if there is no room.
func (o *owed) add(op *engine.Op, ends, now int64, sent, paid bool) bool {
	own := *op
	own.Space, own.Key, own.ID, own.Charges = strings.Clone(op.Space), strings.Clone(op.Key), strings.Clone(op.ID), slices.Clone(op.Charges)
	for i := range own.Charges {
		c := &own.Charges[i]
		c.Space, c.Key = strings.Clone(c.Space), strings.Clone(c.Key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(&own)
	before := o.debts[name]
	if before == nil && len(o.debts) >= maxOwed {
		return false
	}
	o.remove(name, before)
	if o.debts == nil {
		o.debts, o.outside = map[owedKey]*debt{}, map[owedKey]int{}
	}
	d := &debt{op: own, ends: ends, due: now, pause: firstTry, sent: sent, paid: paid}
	o.debts[name] = d
	if !paid {
		o.open(d)
	}
	return true
}

// open counts a debt that the store has to be told of. The lock is held.
func (o *owed) open(d *debt) {
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

// remove removes a debt. The lock is held.
func (o *owed) remove(name owedKey, d *debt) {
	if d == nil || o.debts[name] != d {
		return
	}
	delete(o.debts, name)
	if !d.paid {
		o.closed(d)
	}
}

// closed counts a debt that the store needs no longer be told of. The lock is held.
func (o *owed) closed(d *debt) {
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

// holds reports whether a share gave a permit of one of the operation's keys that the store does not
// have.
func (o *owed) holds(op *engine.Op) bool {
	if o.permits.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(subjects(op), func(subject owedKey) bool { return o.outside[subject] > 0 })
}

// held forgets that a permit has to be released: its holder has acquired it again.
func (o *owed) held(op *engine.Op) {
	if o.count.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(op)
	if d := o.debts[name]; d != nil && d.op.Kind == engine.OpRelease {
		o.remove(name, d)
	}
}

// renewed lets a share's permit end later. missed says that the store has not renewed it: then it is owed
// again, for as long as its holder has it now.
func (o *owed) renewed(op *engine.Op, ends, now int64, missed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.debts[nameOf(op)]
	if d == nil || d.op.Kind != engine.OpAcquire {
		return
	}
	d.ends = ends
	if missed && d.paid {
		d.paid, d.due, d.pause = false, now, firstTry
		o.open(d)
	}
}

// drop forgets a permit that a share gave. outside reports that the store was not known to have it, and
// sent that it may have it all the same.
func (o *owed) drop(op *engine.Op) (outside, sent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := nameOf(op)
	d := o.debts[name]
	if d == nil || d.op.Kind != engine.OpAcquire {
		return false, false
	}
	o.remove(name, d)
	return !d.paid, d.sent
}

// take returns debts that are due, and marks them as sent. Those that have ended are dropped.
func (o *owed) take(now int64, wanted func(*engine.Op) bool) (taken []*debt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, d := range o.debts {
		switch {
		case now >= d.ends:
			if o.remove(name, d); d.op.Kind == engine.OpSettle {
				o.lost.Add(1)
			}
		case !d.paid && now >= d.due && wanted(&d.op) && len(taken) < owedAtOnce:
			d.sent = true
			taken = append(taken, d)
		}
	}
	return taken
}

// answered removes the debts that the store has taken. A release that found no permit is repeated: the
// acquire may come after it.
func (o *owed) answered(taken []*debt, results []engine.Result, now int64) (away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, d := range taken {
		r := &results[i]
		taken := r.Err == nil || unconfirmed(r.Err)
		missed := d.op.Kind == engine.OpRelease && !r.Found || d.op.Kind == engine.OpAcquire && !r.Outcome.Allowed
		switch {
		case taken && !missed && d.op.Kind == engine.OpAcquire && o.debts[nameOf(&d.op)] == d:
			d.paid = true
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

// repay tells the store what it is owed, until life ends.
func (s *Store) repay(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-s.owed.wake:
		}
		for s.owed.count.Load() > 0 && life.Err() == nil {
			s.pay(life, func(op *engine.Op) bool { return !s.lanes.away(op, -1) })
			select {
			case <-life.Done():
			case <-s.owed.wake:
			case <-time.After(firstTry):
			}
		}
	}
}

// pay tells the store what is due, until it does not answer.
func (s *Store) pay(life context.Context, wanted func(*engine.Op) bool) {
	for life.Err() == nil {
		taken := s.owed.take(s.now(), wanted)
		if len(taken) == 0 {
			return
		}
		ops, results := make([]engine.Op, len(taken)), make([]engine.Result, len(taken))
		for i, d := range taken {
			ops[i] = d.asked(s.now())
		}
		ctx, cancel := context.WithTimeout(life, s.config.Slow)
		s.store.Do(ctx, ops, results)
		cancel()
		if s.owed.answered(taken, results, s.now()) {
			return
		}
	}
}
