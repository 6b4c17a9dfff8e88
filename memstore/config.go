package memstore

import (
	"fmt"
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
