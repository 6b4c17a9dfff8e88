// Package stack puts the layers in front of a store in their order: fallback in front of
// prefetch in front of the deny cache in front of group commit. Each can be left out. The package of each
// layer says what the layer promises.
//
//	store, err := stack.New(redis, redis, stack.Config{MaxStale: time.Second})
package stack

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
)

// Config says which layers there are. The zero Config has only group commit, which
// changes no answer.
type Config struct {
	// Batch sets up group commit.
	Batch batch.Config
	// WithoutBatch leaves group commit out: every call goes to the store on its own.
	WithoutBatch bool
	// MaxStale is how old a repeated denial may be, 1 ms to 1 h; 0 leaves the deny cache
	// out. Denials of prefetched limits are not repeated.
	MaxStale time.Duration
	// Prefetch sets up prefetch. There is none if Limits is empty and Spaces is nil;
	// with empty Spaces, limits can be named later (prefetch.Store.SetSpaces).
	Prefetch prefetch.Config
	// Fallback sets up the answers of this process while the store is away; nil is none.
	Fallback *fallback.Config
}

// New returns a store in front of another, and closes that one in its Close; after an
// error it has closed nothing. Prefetch and fallback use the coordinator, which usually is
// the store itself; without both it may be nil. The error is an [*engine.InputError] of the
// layer whose settings are invalid.
func New(store engine.Store, coordinator engine.Coordinator, c Config) (engine.Store, error) {
	leases := len(c.Prefetch.Limits) > 0 || c.Prefetch.Spaces != nil
	var front *prefetch.Store
	if !c.WithoutBatch {
		together, err := batch.New(store, c.Batch)
		if err != nil {
			return nil, err
		}
		store = together
	}
	if c.MaxStale != 0 {
		n := denycache.Config{MaxStale: c.MaxStale}
		if leases {
			n.Except = func(op *engine.Op) bool { return front.Prefetches(op) }
		}
		repeats, err := denycache.New(store, n)
		if err != nil {
			return nil, err
		}
		store = repeats
	}
	if leases {
		var err error
		if front, err = prefetch.New(store, coordinator, c.Prefetch); err != nil {
			return nil, err
		}
		store = front
	}
	if c.Fallback == nil {
		return store, nil
	}
	return fallback.New(store, coordinator, *c.Fallback)
}
