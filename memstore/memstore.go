// Package memstore keeps limits in the memory of one process.
//
// The store is sharded by key, bounded in its number of keys, and exact: it decides every operation at one reading of
// the clock, under the locks of the operation's shards (repeated denials of a busy key need no lock), and is
// linearizable. Use it in tests, and if a single process makes all decisions. Several processes need a shared store,
// because each process with its own memory store would admit the whole limit.
//
// The store keeps a 128-bit hash of each key, computed with the store's own secret. Two keys of 20 bytes collide with
// probability below 2^-95, however a caller chooses them.
//
// No state is lost while there is room. States whose units have all refilled are dropped, a few at a time, as new keys
// come in. If a store is full and all of its keys still have spent units, new keys are denied: nothing is evicted, because a
// client could want its own key to be. There is no goroutine: an idle store does nothing.
//
// The files, in the order in which a request passes through them:
//
//	memstore.go  operations → results; the clock
//	bind.go      a limit that was looked up: key and cost → answer
//	ahead.go     many operations in one call
//	prepared.go  an allow on one limit, decided where its state lies; a busy denied key needs no lock
//	slow.go      everything else is a transaction: several limits, new keys, permits, reservations
//	inplace.go   a transaction on one known key
//	lookup.go    key → hash → shard → slot; prefetches cache lines
//	shard.go     the states under one lock; table.go, where they are
//	scope.go     the shared part of many states: namespace and limit
//	room.go      the parts of the store that namespaces cannot take from one another
//	expiry.go    the next state to expire
//	save.go      all states → a snapshot; restore.go, back
//
// Lock order: shards by index, then the scopes. makeRoom searches the whole store without holding a shard's lock.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Store is an [engine.Store] in memory. It is safe for concurrent use.
type Store struct {
	shards []shard
	lines  []lines // one for each shard
	scopes scopes
	secret secret
	room   room
	clock  clock
	closed atomic.Bool

	coordinator coordinator
	opens       opens

	expired, refused atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// keysPerShard is about the number of keys in a full shard, so that operations that lock a whole shard take little
// time. Shards are larger in a store for more than four million keys, because maxShards bounds the size of an empty
// store to 1 MiB.
const (
	keysPerShard = 1024
	maxShards    = 4096
)

// New returns a store. If a value in c is out of range, the error is an [*engine.InputError].
func New(c Config) (*Store, error) {
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxKeys < 1 || c.MaxKeys > 1<<31 {
		return nil, &engine.InputError{Field: "max_keys", Value: fmt.Sprint(c.MaxKeys), Accepted: "1 to 2147483648"}
	}
	for space, most := range c.MaxKeysOf {
		if most < 1 || most > 1<<31 {
			return nil, &engine.InputError{Field: "max_keys_of " + space, Value: fmt.Sprint(most), Accepted: "1 to 2147483648"}
		}
	}
	n := min(maxShards, 1<<bits.Len(uint(c.MaxKeys/keysPerShard)))
	s := &Store{
		shards: make([]shard, n), lines: make([]lines, n), secret: newSecret(),
	}
	s.room.start(int64(c.MaxKeys), c.MaxKeysOf)
	s.scopes.start(&s.room, &s.secret)
	s.clock.start(c.Clock)
	s.coordinator.start()
	for i := range s.shards {
		s.shards[i].start(i)
	}
	return s, nil
}

// Err returns an error if neither New nor Restore made the store. headgate.WithStore reports it.
func (s *Store) Err() error {
	if s == nil || s.shards == nil {
		return engine.InvalidInput("store", "not set", "the result of memstore.New")
	}
	return nil
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if len(ops) > 1 {
		s.doMany(ctx, ops, results)
		return
	}
	for i := range ops {
		r := &results[i]
		if r.Err == nil {
			r.Err = s.ready(ctx)
		}
		var p prepared
		if r.Err == nil && (!s.prepare(&ops[i], &p) || !s.answer(&ops[i], r, &p, s.clock.micros())) {
			s.decide(&ops[i], r)
		}
	}
}

func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return engine.ErrClosed
	}
	return ctx.Err()
}

func (s *Store) decide(op *engine.Op, r *engine.Answer) {
	if s.inPlace(op, r) {
		return
	}
	t := transactions.Get().(*transaction)
	defer t.free()
	switch err := t.begin(s, op); {
	case err == nil:
		t.run(r)
		t.end(r)
	case !errors.Is(err, ErrFull):
		r.Err = err
	default:
		s.refused.Add(1)
		if r.Err = err; op.Kind != engine.OpSettle {
			s.denyFull(op, r)
		}
	}
}

// fullWait is the wait of a denial for lack of room. When a key of the namespace will expire is not known.
const fullWait = time.Second

// denyFull denies an operation that finds no room for a new key. It is a denial and not an error, because an error lets
// requests pass where a decision that is not known does, and a client can make up keys until the store is full.
func (s *Store) denyFull(op *engine.Op, r *engine.Answer) {
	peek := *op
	peek.Kind, peek.Term = engine.OpPeek, nil
	t := transactions.Get().(*transaction)
	defer t.free()
	if r.Err = t.begin(s, &peek); r.Err != nil {
		return
	}
	t.run(r)
	t.end(r)
	r.Allowed, r.Granted, r.Choice, r.Delay, r.Full = false, 0, 0, 0, true
	l := r.Binds()
	l.RetryAfter, l.Delay = max(l.RetryAfter, fullWait), 0
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	return Stats{
		Keys: s.room.used.Load(), Most: s.room.most, Shared: s.room.common.Load(), MostShared: s.room.shared.Load(),
		Expired: s.expired.Load(), Refused: s.refused.Load(),
	}
}

// Close drops all keys. It is idempotent. After Close, every other method with an error returns engine.ErrClosed, and
// Do sets it in each result.
func (s *Store) Close() error {
	if err := s.Err(); err != nil {
		return err
	}
	if !s.closed.Swap(true) {
		for i := range s.shards {
			s.shards[i].clear()
			s.lines[i].table.Store(nil)
		}
	}
	return nil
}

// clock reads the store's time. With the system clock, Now is the wall clock at start plus monotonic elapsed time, so
// that setting the clock gives no caller more or fewer units. Wall is the wall clock, for windows that begin on the
// hour; it never goes back. With a custom clock, both are the custom clock's reading, even if it goes back.
type clock struct {
	custom  func() time.Time
	started time.Time
	origin  int64 // started, in µs since 1970
	latest  atomic.Int64
}

func (c *clock) start(custom func() time.Time) {
	c.custom = custom
	c.started = time.Now()
	c.origin = c.started.UnixMicro()
}

// read returns the current instant. It sets Wall only on request, because keeping Wall from going back requires memory
// that all shards share.
func (c *clock) read(wall bool) algo.Instant {
	if c.custom != nil {
		now := c.custom().UnixMicro()
		return algo.Instant{Now: now, Wall: now}
	}
	if !wall {
		return algo.Instant{Now: c.micros()}
	}
	t := time.Now()
	return algo.Instant{Now: c.origin + t.Sub(c.started).Microseconds(), Wall: c.forward(t.UnixMicro())}
}

// micros returns [algo.Instant].Now as read from the system clock.
func (c *clock) micros() int64 { return c.origin + time.Since(c.started).Microseconds() }

// forward returns the latest wall time read so far, including the given one.
func (c *clock) forward(wall int64) int64 {
	for {
		latest := c.latest.Load()
		if wall <= latest {
			return latest
		}
		if c.latest.CompareAndSwap(latest, wall) {
			return wall
		}
	}
}
