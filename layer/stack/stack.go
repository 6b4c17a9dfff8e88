// Package stack wraps a store with layers. From the outside in, they are fallback, prefetch, the deny cache, and
// group commit. Each layer is optional, and its package documents its guarantees.
//
//	store, err := stack.New(redis, redis, stack.Config{MaxStale: time.Second})
package stack

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/layer/prefetch"
)

// Config selects the layers. The zero Config selects only group commit, which changes no answer.
type Config struct {
	// Batch configures group commit.
	Batch batch.Config
	// WithoutBatch omits group commit: every call goes to the store separately.
	WithoutBatch bool
	// MaxStale is the maximum age of a repeated denial, 1 ms to 1 h. If it is 0, the deny cache is omitted. Denials by
	// prefetched limits are not repeated.
	MaxStale time.Duration
	// Prefetch configures prefetch. The layer is omitted if Limits is empty and Spaces is nil. If Spaces is empty but
	// not nil, limits can be named later (prefetch.Store.SetSpaces).
	Prefetch prefetch.Config
	// Fallback configures the answers of this process while the store is unavailable. If it is nil, the layer is
	// omitted.
	Fallback *fallback.Config
	// Membership configures how each process counts the other processes, for prefetch and fallback.
	Membership membership.Config
}

// New wraps store with the layers. Close also closes store. If New returns an error, store is still open. The deny
// cache, prefetch and fallback use the coordinator, which is usually the store itself. If only the deny cache is
// configured, or no layer, coordinator may be nil: in that case, the deny cache does not learn of resets by other
// processes. The error is an [*engine.InputError] from the layer with the invalid settings.
func New(store engine.Store, coordinator engine.Coordinator, c Config) (engine.Store, error) {
	member, err := membership.New(coordinator, c.Membership)
	if err != nil {
		return nil, err
	}
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
		n := denycache.Config{MaxStale: c.MaxStale, Coordinator: coordinator}
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
		if front, err = prefetch.New(store, member, c.Prefetch); err != nil {
			return nil, err
		}
		store = front
	}
	if c.Fallback == nil {
		return store, nil
	}
	return fallback.New(store, member, *c.Fallback)
}
