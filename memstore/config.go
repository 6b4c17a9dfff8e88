package memstore

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// DefaultMaxKeys is how many keys a store holds by default. A bucket or fixed window
// takes 37 to 43 bytes of memory per key in total, however long the key is: 40 MiB for a
// million. A sliding window or log takes about 250 bytes, and 16 more for each segment or
// instant with spent units; a concurrency limit about 550.
const DefaultMaxKeys = 1_000_000

// ErrFull is the error of an operation on a new key when the store is full and does not
// evict. It matches [engine.ErrStoreUnavailable]: the decision is not known.
var ErrFull = fmt.Errorf("%w: memory store is full", engine.ErrStoreUnavailable)

// errShareFull is the error of a new key in a name space that has all keys that it may have.
var errShareFull = fmt.Errorf("%w: its name space has all keys that it may have", ErrFull)

// WhenFull says what happens to a new key when the store is full of keys that still
// count.
type WhenFull uint8

const (
	// Refuse returns ErrFull: no key loses what it has spent.
	Refuse WhenFull = iota
	// Evict drops the key that is nearest to untouched: the one whose limit would be
	// reset soonest. That key gets back what it had spent.
	Evict
)

// Config sets up a store. The zero Config is a store with the defaults.
type Config struct {
	// MaxKeys bounds the stored keys: 1 to 2^31. Each limit of a key counts as one. 0
	// means DefaultMaxKeys.
	MaxKeys int
	// MaxKeysOf bounds the keys of some name spaces, each 1 to 2^31, so that they cannot
	// fill the store for the others. A new key beyond that is ErrFull, also where the
	// store evicts.
	MaxKeysOf map[string]int
	// WhenFull says what happens to new keys beyond MaxKeys. The default is Refuse.
	WhenFull WhenFull
	// Clock replaces the system's clock, for tests: see package headgatetest.
	Clock func() time.Time
}

// Stats is the counts that a store keeps.
type Stats struct {
	// Keys is how many keys are stored, including those that equal an untouched limit and
	// have not been dropped yet.
	Keys int64
	// Expired is how many keys were dropped because they equalled an untouched limit.
	Expired int64
	// Evicted is how many keys were dropped to make room while they still counted.
	Evicted int64
	// Refused is how many operations returned ErrFull.
	Refused int64
}
