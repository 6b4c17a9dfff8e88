package load

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// storeTarget is a store that this process uses directly.
type storeTarget struct {
	store   engine.Store
	limiter *headgate.Limiter
}

func (t storeTarget) open(_ context.Context, c *Config) (client, error) {
	if c.Policy != "" {
		return nil, &engine.InputError{Field: "policy", Value: c.Policy, Accepted: "only where the target is a server"}
	}
	return storeClient{core.Policy(t.limiter, "", c.Limit)}, nil
}

func (t storeTarget) storeTime() bool { return true }

func (t storeTarget) Close() error { return errors.Join(t.limiter.Close(), t.store.Close()) }

type storeClient struct{ policy *headgate.Policy }

func (a storeClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	d, err := a.policy.Allow(ctx, key)
	return d.Allowed, d.At, err
}

func (a storeClient) close() {}
