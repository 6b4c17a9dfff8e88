package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/layer/stack"
	"github.com/headgate/headgate/memstore"
)

// leasedRow compares decisions on one hot key in two stores: Redis with prefetched units, and the memory store.
func leasedRow(ctx context.Context, s settings) (table, error) {
	server, err := startRedis(ctx)
	if err != nil {
		return table{}, err
	}
	defer server.stop()
	limit := rule.TokenBucket(rule.PerSecond(50_000_000))
	store, err := open(ctx, "redis://"+server.address, stack.Config{Prefetch: prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 1_000_000}})
	if err != nil {
		return table{}, err
	}
	leased, ok := store.(*prefetch.Store)
	if !ok {
		return table{}, fmt.Errorf("%T leases nothing", store)
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		return table{}, err
	}
	contenders := []contender{asked(ctx, "headgate, leased from Redis", leased, limit), asked(ctx, "headgate, in memory", memory, limit)}
	contenders[1].ours = false // the first contender is compared with this one
	defer finish(contenders)
	time.Sleep(4 * time.Second) // by then the process may prefetch units
	before, start := leased.Stats().Asked, time.Now()
	samples, err := interleave(contenders, load{row: "hot", callers: 2, keys: names(1)}, s)
	if err != nil {
		return table{}, err
	}
	asked := float64(leased.Stats().Asked-before) / time.Since(start).Seconds()
	return table{
		title: "One hot key, leased", unit: "ns a decision", lower: true, reach: 1.5, lines: compare(contenders, samples, nanoseconds), costs: true,
		note: fmt.Sprintf("The store was asked %.0f times a second, for 50 million a second at most.", asked),
	}, nil
}
