package load

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// storeTarget is a store that this process asks itself.
type storeTarget struct {
	store   engine.Store
	limiter *headgate.Limiter
}

func (t storeTarget) open(_ context.Context, c *Config) (asker, error) {
	if c.Policy != "" {
		return nil, &headgate.InputError{Field: "policy", Value: c.Policy, Accepted: "only where the target is a server"}
	}
	return storeAsker{limiter: t.limiter, limit: c.Limit}, nil
}

func (t storeTarget) storeTime() bool { return true }

func (t storeTarget) Close() error { return errors.Join(t.limiter.Close(), t.store.Close()) }

type storeAsker struct {
	limiter *headgate.Limiter
	limit   headgate.Limit
}

func (a storeAsker) take(ctx context.Context, key string) (bool, time.Time, error) {
	d, err := a.limiter.Allow(ctx, key, a.limit)
	return d.Allowed, d.At, err
}

func (a storeAsker) close() {}
