// Package stack wraps a store with layers. From the outside in, they are fallback, prefetch and group commit. Each layer
// is optional, and its package documents its guarantees.
//
//	store, err := stack.New(redis, redis, stack.Config{})
package stack

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
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
	// Prefetch configures prefetch. The layer is omitted if Limits is empty and Spaces is nil. If Spaces is empty but
	// not nil, limits can be named later (prefetch.Store.SetSpaces).
	Prefetch prefetch.Config
	// Fallback configures the answers of this process while the store is unavailable. If it is nil, the layer is
	// omitted.
	Fallback *fallback.Config
	// Membership configures how each process counts the other processes, for prefetch and fallback.
	Membership membership.Config
}

// New wraps store with the layers. Close also closes store. If New returns an error, store is still open. Prefetch
// and fallback use the coordinator, which is usually the store itself. Without them it may be nil. The error is an
// [*engine.InputError] from the layer with the invalid settings.
func New(store engine.Store, coordinator engine.Coordinator, c Config) (engine.Store, error) {
	member, err := membership.New(coordinator, c.Membership)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckStore(store); err != nil {
		return nil, err
	}
	leases := len(c.Prefetch.Limits) > 0 || c.Prefetch.Spaces != nil
	if engine.IsNil(coordinator) && (leases || c.Fallback != nil) {
		return nil, engine.InvalidInput("coordinator", "nil", "a coordinator for prefetch and fallback, usually the store itself")
	}
	if !c.WithoutBatch {
		together, err := batch.New(store, c.Batch)
		if err != nil {
			return nil, err
		}
		store = together
	}
	var leased *prefetch.Store
	if leases {
		if leased, err = prefetch.New(store, member, c.Prefetch); err != nil {
			return nil, err
		}
		store = leased
	}
	if c.Fallback == nil {
		return store, nil
	}
	front, err := fallback.New(store, member, *c.Fallback)
	if err != nil {
		if leased != nil {
			leased.Detach()
		}
		return nil, err
	}
	return front, nil
}
