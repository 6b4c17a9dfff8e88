// A gateway's request limiter: replenish rate, burst capacity and requested
// tokens are a token bucket's rate, burst and cost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

const (
	replenishRate   = 10 // tokens a second
	burstCapacity   = 20
	requestedTokens = 3 // by each request
)

func main() {
	url := flag.String("store", open.Memory, "where limits are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	clock := headgatetest.NewClock() // so that this prints the same at each run
	opened, err := open.Open(ctx, url, open.Options{Clock: clock.Now})
	if err != nil {
		return err
	}
	limiter := headgate.New(headgate.WithStore(opened))
	defer limiter.Close()
	limit, err := headgate.TokenBucket(headgate.PerSecond(replenishRate), headgate.Burst(burstCapacity), headgate.Named("second"))
	if err != nil {
		return err
	}
	for i := range 9 {
		decision, err := limiter.Policy("", limit).AllowN(ctx, headgate.Key("route", "10.0.0.7"), requestedTokens)
		if err != nil {
			return err
		}
		if decision.Allowed {
			fmt.Fprintf(w, "request %d: passes, %d tokens left\n", i, decision.Remaining)
			continue
		}
		// The classic script counts whole seconds and forgets the fraction.
		fmt.Fprintf(w, "request %d: refused, passes in %s\n", i, decision.RetryAfter)
		clock.Advance(decision.RetryAfter)
	}
	return placement(ctx, w, opened, limit)
}

// placement shows where a Cluster keeps what one id has spent: by the second,
// and by the day. Both keys carry the id as their hash tag, so both are in one
// slot, and one script decides on both.
func placement(ctx context.Context, w io.Writer, opened store.Store, limit headgate.Limit) error {
	redis := opened.Redis
	if redis == nil {
		return nil
	}
	daily, err := headgate.FixedWindow(headgate.PerDay(100_000), headgate.Named("day"))
	if err != nil {
		return err
	}
	limiter := headgate.New(headgate.WithStore(redis), headgate.WithSpace("gateway"))
	decision, err := limiter.Allow(ctx, "10.0.0.7", limit, daily)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "both limits in one call: allowed=%t, mode %s\n", decision.Allowed, decision.Promise.Mode)
	for _, l := range []headgate.Limit{limit, daily} {
		op := engine.Single(engine.OpAllow, "10.0.0.7", l, 1)
		op.Space = "gateway"
		for _, key := range redis.Keys(&op) {
			fmt.Fprintf(w, "%s is in slot %d\n", key, redisstore.Slot(key))
		}
	}
	return nil
}
