package denycache

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/keymap"
)

// DefaultMaxKeys is how many denials a store keeps by default: about 32 MiB.
const DefaultMaxKeys = 1 << 16

// Config sets up a store.
type Config struct {
	// MaxStale is how old a repeated denial may be: 1 ms to 1 h. It has no default.
	MaxStale time.Duration
	// MaxKeys is how many denials are kept: 64 to 2^24. When it is reached, new denials
	// are not kept. The default is 65536.
	MaxKeys int
	// Except reports operations whose denials must not be repeated: those of package
	// prefetch, whose units often come back. Nil means none.
	Except func(*engine.Op) bool
	// Clock replaces the system's clock, for tests: see package headgatetest.
	Clock func() time.Time
}

// New returns a store in front of another, and closes that one in its Close. The error is
// an [*engine.InputError] for a Config out of its ranges.
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
	return &Store{store: store, maxStale: c.MaxStale, except: c.Except, clock: c.Clock, table: table}, nil
}

// Unwrap returns the store behind.
func (s *Store) Unwrap() engine.Store { return s.store }

// Stats is the counts that a store keeps.
type Stats struct {
	// Repeated is how many operations were decided here, Asked how many went to the store
	// behind.
	Repeated, Asked int64
}

// Stats returns the store's counts.
func (s *Store) Stats() Stats { return Stats{Repeated: s.repeated.Load(), Asked: s.asked.Load()} }

// Close closes the store behind.
func (s *Store) Close() error { return s.store.Close() }
