// Package near keeps what a process knows of its hot keys nearby, so that the
// store is not asked what is known.
//
// What it knows is refusals: who was refused one unit is refused until the time
// he was told, whoever else comes. Until then the refusal is repeated here, in
// a fraction of a microsecond. Of a token bucket it knows besides how units come
// in: as many as can have come in are asked for, and who comes besides is
// refused. Nothing exceeds a limit by that. But units can
// come back sooner: somebody gives some back, resets the key, changes the limit,
// or the store loses its data. Of what goes through this store that is seen at
// once; of what others do, not before the refusal has the age that
// [Config.MaxStale] allows. The decision says [engine.Cached] and how old it
// is.
//
//	near.go     a call → what is known, and what has to be asked
//	refusal.go  one refusal, as time goes by
//	table.go    the refusals of a process, bounded
package denycache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/internal/forward"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// DefaultMaxKeys is how many refusals a store keeps unless told otherwise, some
// 32 MiB.
const DefaultMaxKeys = 1 << 16

// Config sets up a store.
type Config struct {
	// MaxStale is how old a refusal may be when it is repeated: 1 ms to 1 h. It
	// has no default.
	MaxStale time.Duration
	// MaxKeys is how many refusals are kept: 64 to 2^24. Of more, those that
	// come are not. The default is 65536.
	MaxKeys int
	// Except reports operations whose refusals are not to be repeated: those
	// that package lease leases, whose units come back often. Nil is none.
	Except func(*engine.Op) bool
	// Clock replaces the system's clock, for tests: see package headgatetest.
	Clock func() time.Time
}

// Store is a [engine.Store] in front of another.
type Store struct {
	store    engine.Store
	maxStale time.Duration
	except   func(*engine.Op) bool
	clock    func() time.Time
	table    *keymap.Map[id, *refusal]

	repeated, asked atomic.Int64
}

var _ engine.Store = (*Store)(nil)

// New returns a store in front of another, which it closes when it is closed.
func New(store engine.Store, c Config) (*Store, error) {
	if c.MaxStale < time.Millisecond || c.MaxStale > time.Hour {
		return nil, &engine.InputError{Field: "max_stale", Value: c.MaxStale.String(), Accepted: "1ms to 1h"}
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxKeys < keymap.Shards || c.MaxKeys > 1<<24 {
		return nil, &engine.InputError{Field: "max_keys", Value: fmt.Sprint(c.MaxKeys), Accepted: "64 to 16777216"}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	table := keymap.New[id, *refusal](c.MaxKeys)
	return &Store{store: store, maxStale: c.MaxStale, except: c.Except, clock: c.Clock, table: table}, nil
}

// Unwrap returns the store behind.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats is what a store has counted.
type Stats struct {
	// Repeated is how many operations were answered here, Asked how many the
	// store behind was asked.
	Repeated, Asked int64
}

// Stats returns what the store has counted.
func (s *Store) Stats() Stats { return Stats{Repeated: s.repeated.Load(), Asked: s.asked.Load()} }

// Close closes the store behind.
func (s *Store) Close() error { return s.store.Close() }

// asking is the memory of a call that has to ask.
type asking struct {
	forward.Rest
	seen []seen
}

// seen is what was known of an operation's key before it was asked about.
type seen struct {
	version uint64 // of its shard
	paced   bool   // it is asked for a unit that may have come in
}

var askings = sync.Pool{New: func() any { return new(asking) }}

func (a *asking) free() {
	a.Clear()
	a.seen = a.seen[:0]
	askings.Put(a)
}

// Do decides the operations. See [engine.Store].
func (s *Store) Do(ctx context.Context, ops []engine.Op, results []engine.Result) {
	a := askings.Get().(*asking)
	defer a.free()
	now := s.clock()
	for i := range ops {
		if results[i].Err != nil {
			continue
		}
		before, repeated := s.repeat(ctx, &ops[i], &results[i], now)
		if repeated {
			s.repeated.Add(1)
			continue
		}
		s.forget(&ops[i])
		a.Add(i)
		a.seen = append(a.seen, before)
	}
	if len(a.From) == 0 {
		return
	}
	s.asked.Add(int64(len(a.From)))
	a.Do(ctx, s.store, ops, results)
	heard := s.clock()
	for n, i := range a.From {
		s.forget(&ops[i])
		s.remember(&ops[i], &results[i], now, heard, a.seen[n])
	}
}

// repeats reports whether a refusal of an operation may be repeated: of one unit
// of one limit, since nothing is left then until it passes; not where refusals
// are counted, nor of a pacer, whose queue moves.
func (s *Store) repeats(op *engine.Op) bool {
	if op.Kind != engine.OpAllow || len(op.Charges) != 1 || op.Charges[0].Cost != 1 || s.except != nil && s.except(op) {
		return false
	}
	switch l := op.Charges[0].Limit.Numbers(); l.Algorithm {
	case algo.TokenBucket, algo.FixedWindow, algo.SlidingWindow, algo.SlidingLog:
		return !l.CountDenied
	default:
		return false
	}
}
