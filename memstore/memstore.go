// Package memstore keeps limits in the memory of one process.
//
// It is sharded by key, bounded in keys and exact: every operation is decided
// under its shards' locks at one reading of the clock, and is linearizable. Use
// it where one process decides, and in tests. Where several processes share a
// limit, each would admit the whole of it: they need a shared store.
//
// A key is known by a hash of 128 bits under a secret of the store's. Two keys of
// 20 bytes pass for one with a chance below 1 in 2^95, whoever chose them.
//
// Nothing is lost while there is room. What equals an untouched limit is
// dropped, a little at a time, as new keys come in. A store that is full of keys
// that still count either refuses new keys or evicts, as [Config.WhenFull] says.
// There is no goroutine: a store that is not used does nothing.
//
// The rooms, in the order in which an operation goes through them:
//
//	memstore.go     operations → results
//	single.go       one limit of two words on a key that is there
//	hot.go          the state of a key that is refused often, read without a lock
//	transaction.go  everything else
//	shard.go        states under one lock; table.go, where they are; hash.go, by what
//	class.go        what many states have in common
//	soon.go         what expires next; room.go, what goes when the store is full
//
// Lock order: shards in the order of their index, then the classes; a shard's
// lock is never held while the whole store is searched for room.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// DefaultMaxKeys is how many keys a store holds unless told otherwise. Buckets
// and fixed windows take 37 to 43 bytes each, all included and however long their
// keys are: 40 MiB. Sliding windows and logs take about 250 bytes, and 16 more for
// each segment or instant at which something was spent; concurrency limits about
// 550.
const DefaultMaxKeys = 1_000_000

// ErrFull is the error of an operation on a new key that a full store refuses.
// It matches [engine.ErrStoreUnavailable]: the decision is not known.
var ErrFull = fmt.Errorf("%w: memory store is full", engine.ErrStoreUnavailable)

// WhenFull says what happens to a new key when all keys of a full store count.
type WhenFull uint8

const (
	// Refuse answers ErrFull: no key loses what it has spent.
	Refuse WhenFull = iota
	// Evict forgets the key that is nearest to untouched: whose limit would
	// be reset soonest. It gets back what it had spent.
	Evict
)

// Config sets up a store. The zero Config is a store with the defaults.
type Config struct {
	// MaxKeys bounds the keys held, counting each limit of a key: 1 to 2^31.
	// 0 is DefaultMaxKeys.
	MaxKeys int
	// WhenFull says what happens to new keys beyond it. The default is Refuse.
	WhenFull WhenFull
	// Clock replaces the system's clock, for tests: see package headgatetest.
	Clock func() time.Time
}

// Stats is what a store has counted.
type Stats struct {
	// Keys is how many are held, those included that equal an untouched limit
	// and were not dropped yet.
	Keys int64
	// Expired is how many were dropped because they equalled an untouched
	// limit.
	Expired int64
	// Evicted is how many were forgotten while they still counted.
	Evicted int64
	// Refused is how many operations were answered ErrFull.
	Refused int64
}

// Store is a [engine.Store] in memory.
type Store struct {
	shards   []shard
	classes  classes
	secret   secret
	maxKeys  int64
	whenFull WhenFull
	clock    clock
	closed   atomic.Bool

	coordinator coordinator

	keys, expired, evicted, refused atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// keysPerShard keeps short what is done with a whole shard under its lock;
// maxShards bounds what an empty store takes, to 1 MiB.
const (
	keysPerShard = 1024
	maxShards    = 4096
)

// New returns a store.
func New(c Config) (*Store, error) {
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxKeys < 1 || c.MaxKeys > 1<<31 {
		return nil, &engine.InputError{Field: "max_keys", Value: fmt.Sprint(c.MaxKeys), Accepted: "1 to 2147483648"}
	}
	if c.WhenFull > Evict {
		return nil, &engine.InputError{Field: "when_full", Value: fmt.Sprint(c.WhenFull), Accepted: "Refuse or Evict"}
	}
	n := min(maxShards, 1<<bits.Len(uint(c.MaxKeys/keysPerShard)))
	s := &Store{
		shards: make([]shard, n), secret: newSecret(),
		maxKeys: int64(c.MaxKeys), whenFull: c.WhenFull,
	}
	s.classes.start()
	s.clock.start(c.Clock)
	s.coordinator.start()
	for i := range s.shards {
		s.shards[i].start()
	}
	return s, nil
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	for i := range ops {
		r := &results[i]
		if r.Err == nil {
			r.Err = s.ready(ctx)
		}
		if r.Err == nil {
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

func (s *Store) decide(op *engine.Op, r *engine.Result) {
	if s.single(op, r) {
		return
	}
	t := transactions.Get().(*transaction)
	defer t.free()
	if err := t.begin(s, op); err != nil {
		r.Err = err
		if errors.Is(err, ErrFull) {
			s.refused.Add(1)
		}
		return
	}
	t.run(r)
	t.end()
}

// Stats returns what the store has counted.
func (s *Store) Stats() Stats {
	return Stats{Keys: s.keys.Load(), Expired: s.expired.Load(), Evicted: s.evicted.Load(), Refused: s.refused.Load()}
}

// Close drops all keys. Later calls answer engine.ErrClosed.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		close(s.coordinator.closed)
		for i := range s.shards {
			s.shards[i].clear()
		}
	}
	return nil
}
