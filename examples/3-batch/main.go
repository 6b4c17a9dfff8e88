// This program uses a sliding window: for one request at a time, for many requests in one call, and for different
// operations in one call.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
)

func main() {
	url := flag.String("store", open.Memory, "where counters are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	store, err := open.URL(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	// The namespace separates these counters from the counters of other programs on the same store.
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-batch"))
	defer limiter.Close()
	limit := headgate.SlidingWindow{Rate: headgate.PerHour(6), Segments: 60, Variant: headgate.Strict}
	perUser := limiter.Policy("per-user", limit)

	for _, user := range []string{"alice", "bob", "carol"} {
		// On Redis, the units that the previous run spent still count.
		if _, err := perUser.Reset(ctx, user); err != nil {
			return err
		}
	}
	for _, user := range []string{"alice", "alice", "bob"} {
		d, err := perUser.Allow(ctx, user)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: allowed=%t remaining=%d\n", user, d.Allowed, d.Remaining)
	}

	before := roundTrips(store)
	// Each request is decided separately, in order, but the store is called only once.
	results := limiter.AllowEach(ctx, headgate.Charge{Policy: perUser, Key: "alice", Units: 3}, headgate.Charge{Policy: perUser, Key: "alice", Units: 2}, headgate.Charge{Policy: perUser, Key: "bob", Units: 1})
	if err := show(w, "AllowEach", results); err != nil {
		return err
	}
	if trips := roundTrips(store) - before; trips > 0 {
		fmt.Fprintf(w, "round trips of the 3 requests: %d\n", trips)
	}
	return nil
}

func show(w io.Writer, call string, results []headgate.Result) error {
	for i, r := range results {
		if r.Err != nil {
			return r.Err
		}
		fmt.Fprintf(w, "%s %d: allowed=%t remaining=%d\n", call, i, r.Decision.Allowed, r.Decision.Remaining)
	}
	return nil
}

// roundTrips returns the number of calls to Redis. It is 0 in memory.
func roundTrips(store open.Opened) int64 {
	if store.Redis == nil {
		return 0
	}
	return store.Redis.Stats().RoundTrips
}
