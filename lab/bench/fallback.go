package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
	openstore "github.com/headgate/headgate/open"
)

// failureLayer measures the cost of the fallback layer while Redis is up. It compares the Redis store with and without
// the layer. Both use the same Redis with separate keys, because the difference between two servers exceeds the cost of
// the layer.
func failureLayer(ctx context.Context, s settings) (tables []table, err error) {
	servers, err := startPrograms(ctx, redisProgram, 1)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	var contenders [2]contender
	for i, c := range []*fallback.Config{nil, {Slow: time.Second}} {
		store, err := openstore.URL(ctx, "redis://"+servers[0].address, openstore.Options{Fallback: c, SubPrefix: fmt.Sprint(i)})
		if err != nil {
			return nil, err
		}
		limiter := headgate.New(headgate.WithStore(store))
		defer func() { _, _ = limiter.Close(), store.Close() }()
		limit := rule.TokenBucket(rule.PerSecond(perSecond))
		contenders[i] = contender{name: "headgate", ask: func(key string) error {
			op := engine.Single(engine.OpAllow, key, limit, 1)
			results := limiter.Core().Decide(context.WithoutCancel(ctx), []engine.Op{op}...)
			if results[0].Promise.Mode == engine.Fallback {
				return errors.New("the store was away")
			}
			return results[0].Err
		}}
	}
	keys := names(100_000)
	t, err := beside(s, func(on bool) (float64, error) {
		c := contenders[0]
		if on {
			c = contenders[1]
		}
		one, err := turn(c, load{row: "failure layer", callers: 512, keys: keys}, s)
		return one.perSecond, err
	})
	if err != nil {
		return nil, err
	}
	t.title, t.unit, t.reach = "The failure layer, no faults: on one Redis, 512 callers, 100 000 keys", "decisions/s", 0.97
	t.lines[0].name = "with failure local"
	return []table{t}, nil
}
