package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/batch"
	"github.com/headgate/headgate/lease"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// leasedRow compares a hot key whose units are leased from Redis with one in
// memory.
func leasedRow(ctx context.Context, address string, s settings) (table, error) {
	limit := headgate.Must(headgate.TokenBucket(headgate.PerSecond(50_000_000)))
	redis, err := rueidisadapter.Open(ctx, "redis://"+address, redisstore.Config{})
	if err != nil {
		return table{}, err
	}
	together, err := batch.New(redis, batch.Config{})
	if err != nil {
		return table{}, err
	}
	leased, err := lease.New(together, redis, lease.Config{Limits: []headgate.Limit{limit}, Life: time.Second, MaxUnits: 1_000_000})
	if err != nil {
		return table{}, err
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return table{}, err
	}
	var contenders []contender
	for _, c := range []struct {
		name  string
		store headgate.Store
	}{{"headgate, leased from Redis", leased}, {"headgate, in memory", memory}} {
		limiter := headgate.New(c.store)
		contenders = append(contenders, contender{name: c.name, ours: len(contenders) == 0, ask: func(key string) error {
			_, err := limiter.Allow(ctx, key, limit)
			return err
		}, done: func() { _ = limiter.Close() }})
	}
	defer finish(contenders)
	time.Sleep(4 * time.Second) // until it may take leases
	before, start := leased.Stats().Asked, time.Now()
	samples, err := interleave(contenders, load{row: "hot", callers: 2, keys: names(1)}, s)
	if err != nil {
		return table{}, err
	}
	asked := float64(leased.Stats().Asked-before) / time.Since(start).Seconds()
	return table{
		title: "One hot key, leased", unit: "ns a decision", lower: true, reach: 1.5, lines: compare(contenders, samples, nanoseconds),
		note: fmt.Sprintf("The store was asked %.0f times a second, for 50 million a second at most.", asked),
	}, nil
}
