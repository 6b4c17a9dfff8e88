package load

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// storeTarget is a store that this process uses directly.
type storeTarget struct {
	store   engine.Store
	limiter *core.Limiter
}

func (t storeTarget) open(_ context.Context, c *Config) (client, error) {
	if c.Policy != "" {
		return nil, &engine.InputError{Field: "policy", Value: c.Policy, Accepted: "only where the target is a server"}
	}
	return storeClient{t.limiter.Policy("", c.Limit)}, nil
}

func (t storeTarget) storeTime() bool { return true }

func (t storeTarget) Close() error { return errors.Join(t.limiter.Close(), t.store.Close()) }

type storeClient struct{ policy *core.Policy }

func (a storeClient) take(ctx context.Context, key string) (bool, time.Time, error) {
	c := a.policy.Ask(ctx, engine.OpAllow, key, 1)
	defer c.Free()
	return c.Answer().Allowed, c.Answer().At(), c.Answer().Err
}

func (a storeClient) close() {}
