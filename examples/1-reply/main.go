// User laoqian may reply at most 5 times in any 60 seconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/headgate/headgate"
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
	clock := headgatetest.NewClock() // so that this prints the same at each run
	opened, err := open.Open(ctx, url, open.Options{Clock: clock.Now})
	if err != nil {
		return err
	}
	limiter := headgate.New(headgate.WithStore(opened))
	defer limiter.Close()

	plain, err := headgate.SlidingLog(headgate.PerMinute(5))
	if err != nil {
		return err
	}
	counting, err := headgate.SlidingLog(headgate.PerMinute(5), headgate.CountDenied(), headgate.Named("counting"))
	if err != nil {
		return err
	}
	key := headgate.Key("laoqian", "reply")
	for _, limit := range []headgate.Limit{plain, counting} {
		passed := 0
		for range 20 {
			decision, err := limiter.Allow(ctx, key, limit)
			if err != nil {
				return err
			}
			if decision.Allowed {
				passed++
			}
		}
		fmt.Fprintf(w, "%s: %d of 20 pass\n", limit, passed)
	}

	// Half a minute on, he tries again and is refused. Only the second limit
	// holds that against him when the first 60 seconds are over.
	clock.Advance(30 * time.Second)
	for _, limit := range []headgate.Limit{plain, counting} {
		if _, err := limiter.Policy("", limit).AllowN(ctx, key, 5); err != nil {
			return err
		}
	}
	clock.Advance(30 * time.Second)
	for _, limit := range []headgate.Limit{plain, counting} {
		decision, err := limiter.Allow(ctx, key, limit)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: after 60 s allowed=%t, retry after %s\n", limit, decision.Allowed, decision.RetryAfter)
	}
	return nil
}
