package denycache

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// DefaultMaxKeys is the default number of stored denials: about 32 MiB.
const DefaultMaxKeys = 1 << 16

// Config configures a store.
type Config struct {
	// MaxStale is the maximum age of a repeated denial: 1 ms to 1 h. It has no default.
	MaxStale time.Duration
	// MaxKeys is the largest number of stored denials: 64 to 2^24. Further denials are not stored. The default is
	// 65536.
	MaxKeys int
	// Except reports operations whose denials must not be repeated, such as operations of package prefetch, whose
	// units often come back. It can be nil.
	Except func(*engine.Op) bool
	// Coordinator sends the keys that this process resets to the other processes, and receives theirs. It can be nil.
	Coordinator engine.Coordinator
	// Clock replaces the system clock in tests: see package headgatetest.
	Clock func() time.Time
}

// New wraps store. Close also closes it. If a value in c is out of range, the error is an [*engine.InputError].
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
	table := keymap.New[id, *denial](c.MaxKeys)
	s := &Store{store: store, coordinator: c.Coordinator, maxStale: c.MaxStale, except: c.Except, clock: c.Clock, table: table}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Unwrap returns the wrapped store.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats contains a store's counters.
type Stats struct {
	// Repeated is the number of operations decided locally. Asked is the number of operations sent to the wrapped
	// store.
	Repeated, Asked int64
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats { return Stats{Repeated: s.repeated.Load(), Asked: s.asked.Load()} }

// Close closes the wrapped store. It is idempotent if the wrapped store's Close is.
func (s *Store) Close() error {
	s.end()
	s.started.Do(func() {})
	s.listening.Wait()
	return s.store.Close()
}
