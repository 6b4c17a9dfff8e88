package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/internal/rule"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/redisstore"
)

// waiters is the number of callers that wait for one key. It is also the limit's rate in units per second.
const waiters = 1000

// waiting makes the callers of two limiters wait for one key on Redis, all at the same time. It compares the time
// until the last caller has passed with the time that the rate implies.
func waiting(ctx context.Context, _ settings) ([]table, error) {
	servers, err := startSeveral(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	var calls int64
	var wg sync.WaitGroup
	failures := make(chan error, waiters)
	limit := rule.TokenBucket(rule.PerSecond(waiters), rule.Burst(1))
	var stores []*redisstore.Store
	var policies []*headgate.Policy
	for range 2 {
		store, err := rueidisadapter.Open(ctx, "redis://"+servers[0].address, redisstore.Config{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = store.Close() }()
		stores = append(stores, store)
		policies = append(policies, headgate.New(headgate.WithStore(store)).PolicyOf("waiting", limit))
	}
	start := time.Now()
	for i := range waiters {
		wg.Go(func() {
			if _, err := policies[i%2].Wait(ctx, "k"); err != nil {
				failures <- err
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	close(failures)
	for err := range failures {
		return nil, errors.Join(errors.New("a caller did not pass"), err)
	}
	for _, store := range stores {
		calls += store.Stats().RoundTrips
	}
	return []table{{
		title: fmt.Sprintf("%d callers of Wait on one key over Redis", waiters), unit: "ms until the last passes",
		lower: true, reach: 1.05,
		lines: []line{
			{name: "headgate, two processes", ours: true, value: float64(took.Microseconds()) / 1000},
			{name: "the rate itself", value: 1000 * float64(waiters-1) / waiters},
		},
		note: fmt.Sprintf("%.2f script calls for each caller.", float64(calls)/waiters),
	}}, nil
}
