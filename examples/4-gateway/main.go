// This program configures the request limiter of a gateway. The settings replenish rate, burst capacity and requested
// tokens are a token bucket's rate, burst and cost. With the values below, a caller can send 3 requests at once, and then
// one request per minute.
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
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

const (
	replenishRate   = 1 // tokens per second
	burstCapacity   = 180
	requestedTokens = 60 // per request
)

var (
	second = headgate.TokenBucket{Rate: headgate.PerSecond(replenishRate), Burst: burstCapacity, Name: "second"}
	day    = headgate.FixedWindow{Rate: headgate.PerDay(100_000), Name: "day"}
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
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-gateway"))
	defer limiter.Close()
	route := limiter.Policy("route", second, day)

	const client = "10.0.0.7"
	// On Redis, the units that the previous run spent still count.
	if _, err := route.Reset(ctx, client); err != nil {
		return err
	}
	for i := range 5 {
		d, err := route.AllowN(ctx, client, requestedTokens)
		if err != nil {
			return err
		}
		if d.Allowed {
			fmt.Fprintf(w, "request %d: passes, %d more would pass now\n", i, d.Remaining/requestedTokens)
		} else {
			fmt.Fprintf(w, "request %d: denied by the limit %q\n", i, d.Binding.Name)
		}
	}
	if store.Redis != nil {
		showSlots(w, store.Redis, client)
	}
	return nil
}

// showSlots prints where Redis stores a client's counters. The client is the hash tag of both keys. They are therefore
// in the same slot of a Cluster, and one script decides both.
func showSlots(w io.Writer, redis *redisstore.Store, client string) {
	// The name of a counter contains the algorithm, the limit's name and, for a fixed window, the window.
	for _, text := range []string{"1/s name second", "fixed-window 100000/1d name day"} {
		limit, err := engine.ParseLimit(text)
		if err != nil {
			return
		}
		op := engine.Single(engine.OpAllow, client, limit, requestedTokens)
		op.Space = "example-gateway:" + engine.PolicySpace("route")
		for _, key := range redis.Keys(&op) {
			fmt.Fprintf(w, "%s is in slot %d\n", key, redisstore.Slot(key))
		}
	}
}
