// A sliding window asked one call at a time, and many calls in one.
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
)

func main() {
	url := flag.String("store", open.Memory, "where limits are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	opened, err := open.Open(ctx, url, open.Options{Clock: headgatetest.NewClock().Now})
	if err != nil {
		return err
	}
	limiter := headgate.New(headgate.WithStore(opened))
	defer limiter.Close()
	limit, err := headgate.SlidingWindow(headgate.PerMinute(6), headgate.Segments(60), headgate.Strict())
	if err != nil {
		return err
	}

	for _, user := range []string{"alice", "alice", "bob"} {
		decision, err := limiter.Allow(ctx, user, limit)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: allowed=%t remaining=%d\n", user, decision.Allowed, decision.Remaining)
	}

	// Each operation is decided and answered on its own, in order; the store
	// is asked once.
	ops := []engine.Op{
		engine.Single(engine.OpAllow, "alice", limit, 3),
		engine.Single(engine.OpAllow, "alice", limit, 2),
		engine.Single(engine.OpAllow, "bob", limit, 1),
		engine.Single(engine.OpPeek, "carol", limit, 1),
		engine.Single(engine.OpAllow, "alice", limit, 1),
	}
	before := roundTrips(opened)
	results := limiter.Do(ctx, ops, nil)
	trips := roundTrips(opened) - before
	for i, result := range results {
		if result.Err != nil {
			return result.Err
		}
		d := result.Decision
		fmt.Fprintf(w, "%s %s %d: allowed=%t remaining=%d\n", ops[i].Kind, ops[i].Key, ops[i].Charges[0].Cost, d.Allowed, d.Remaining)
	}
	if trips > 0 {
		fmt.Fprintf(w, "%d operations in %d round trip: %d saved\n", len(ops), trips, int64(len(ops))-trips)
	}
	return nil
}

// roundTrips is how often a Redis was asked; the memory store asks nobody.
func roundTrips(opened store.Store) int64 {
	if redis := opened.Redis; redis != nil {
		return redis.Stats().RoundTrips
	}
	return 0
}
