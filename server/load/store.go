package load

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// storeTarget is a store used directly by this process.
type storeTarget struct {
	store   engine.Store
	limiter *headgate.Limiter
}

func (t storeTarget) open(_ context.Context, c *Config) (client, error) {
	if c.Policy != "" {
		return nil, &headgate.InputError{Field: "policy", Value: c.Policy, Accepted: "only where the target is a server"}
	}
	return storeClient{limiter: t.limiter, limit: c.Limit}, nil
}

func (t storeTarget) storeTime() bool { return true }

func (t storeTarget) Close() error { return errors.Join(t.limiter.Close(), t.store.Close()) }

type storeClient struct {
	limiter *headgate.Limiter
	limit   headgate.Limit
}

func (a storeClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	d, err := a.limiter.Allow(ctx, key, a.limit)
	return d.Allowed, d.At, err
}

func (a storeClient) close() {}
