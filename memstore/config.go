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

// ErrFull is returned for an open reservation, group, topic or value too many, and for a settlement whose record finds
// no room. It matches [engine.ErrStoreUnavailable]: the decision is not known. An operation on a new key that finds no
// room is denied instead ([engine.Answer.Full]).
var ErrFull = fmt.Errorf("%w: memory store is full", engine.ErrStoreUnavailable)

// Config configures a store. The zero Config means the defaults.
type Config struct {
	// MaxKeys limits the number of stored keys: 1 to 2^31. Each limit of a key counts as one key. 0 means
	// DefaultMaxKeys.
	MaxKeys int
	// MaxKeysOf bounds the number of keys in some namespaces, each 1 to 2^31, below what [Store.KeepRoom] leaves them.
	// A new key beyond its namespace's bound is denied.
	MaxKeysOf map[string]int
	// Clock replaces the system clock in tests: see package headgatetest.
	Clock func() time.Time
}

// Stats contains a store's counters.
type Stats struct {
	// Keys is the number of stored keys. It includes keys that have expired, because all of their units have refilled,
	// but have not been dropped yet.
	Keys int64
	// Most is [Config.MaxKeys].
	Most int64
	// Shared is the number of keys beyond the parts of their namespaces ([Store.KeepRoom]), and MostShared the most that
	// it can be: then a namespace has only its part.
	Shared, MostShared int64
	// Expired is the number of keys dropped because they had expired.
	Expired int64
	// Refused is the number of operations that found no room.
	Refused int64
}
