// Package stack puts the layers in front of a store in their order: leases in
// front of repeated refusals in front of group commit. Each can be left out; what
// each promises, its own package says.
//
//	store, err := stack.New(redis, redis, stack.Config{MaxStale: time.Second})
package stack

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/layer/prefetch"
)

// Config says which layers there are. The zero Config is group commit alone,
// which changes no answer.
type Config struct {
	// Batch sets up group commit.
	Batch batch.Config
	// Alone leaves group commit out: every call goes to the store by itself.
	Alone bool
	// MaxStale is how long refusals are repeated without asking, 1 ms to 1 h; 0
	// asks every time. Refusals of leased limits are not repeated.
	MaxStale time.Duration
	// Lease sets up leases; where it names no limits there are none.
	Lease prefetch.Config
}

// New returns a store in front of another, which it closes when it is closed; on
// an error it closes nothing. The coordinator is that of the leases, mostly the
// store itself; without leases it may be nil.
func New(store engine.Store, coordinator engine.Coordinator, c Config) (engine.Store, error) {
	leases := len(c.Lease.Limits) > 0 || len(c.Lease.Spaces) > 0
	if !c.Alone {
		together, err := batch.New(store, c.Batch)
		if err != nil {
			return nil, err
		}
		store = together
	}
	if c.MaxStale != 0 {
		n := denycache.Config{MaxStale: c.MaxStale}
		if leases {
			n.Except = c.Lease.Leases()
		}
		repeats, err := denycache.New(store, n)
		if err != nil {
			return nil, err
		}
		store = repeats
	}
	if !leases {
		return store, nil
	}
	return prefetch.New(store, coordinator, c.Lease)
}
