package memstore

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// DefaultMaxKeys is the default number of keys in a store. A bucket or fixed window takes 37 to 43 bytes of memory
// per key in total, regardless of the key's length: 40 MiB for a million. A sliding window or log takes about 250
// bytes, and 16 more for each segment or instant with spent units. A concurrency limit takes about 550 bytes.
const DefaultMaxKeys = 1_000_000

// ErrFull is returned for an operation on a new key if the store is full and does not evict, or if the key's namespace
// has reached its bound ([Config.MaxKeysOf]). It is also returned for one open reservation, group, topic or value too
// many. It matches [engine.ErrStoreUnavailable]: the decision is not known.
var ErrFull = fmt.Errorf("%w: memory store is full", engine.ErrStoreUnavailable)

// errShareFull is the error for a new key in a namespace that has reached its bound.
var errShareFull = fmt.Errorf("%w: its name space has all keys that it may have", ErrFull)

// WhenFull determines what happens to a new key if the store is full and all of its keys still have spent units.
type WhenFull uint8

const (
	// Refuse rejects the new key with ErrFull. The spent units of existing keys stay counted.
	Refuse WhenFull = iota
	// Evict drops the key whose limit would reset first. This key gets its spent units back.
	Evict
)

// Config configures a store. The zero Config means the defaults.
type Config struct {
	// MaxKeys limits the number of stored keys: 1 to 2^31. Each limit of a key counts as one key. 0 means
	// DefaultMaxKeys.
	MaxKeys int
	// MaxKeysOf bounds the number of keys in some namespaces, each 1 to 2^31, so that these namespaces cannot fill
	// the store. A new key beyond its namespace's bound gets ErrFull, even if the store evicts.
	MaxKeysOf map[string]int
	// WhenFull determines what happens to new keys beyond MaxKeys. The default is Refuse.
	WhenFull WhenFull
	// Clock replaces the system clock in tests: see package headgatetest.
	Clock func() time.Time
}

// Stats contains a store's counters.
type Stats struct {
	// Keys is the number of stored keys. It includes keys that have expired, because all of their units have refilled,
	// but have not been dropped yet.
	Keys int64
	// Expired is the number of keys dropped because they had expired.
	Expired int64
	// Evicted is the number of keys dropped to make room before they had expired.
	Evicted int64
	// Refused is the number of operations that returned ErrFull.
	Refused int64
}
