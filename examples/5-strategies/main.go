// The six limiters of the Go article, by one library: fixed window, sliding
// window over small segments, leaky bucket, token bucket, and a log with several
// strategies.
package main

import (
	"context"
	"errors"
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

	for _, l := range []struct {
		what  string
		limit headgate.Limit
	}{
		{"fixed window", headgate.FixedWindow(headgate.PerSecond(3))},
		{"sliding window, as the hash and list scripts do", headgate.SlidingWindow(headgate.PerSecond(3), headgate.Segments(10), headgate.Lenient())},
		{"sliding window, kept strictly", headgate.SlidingWindow(headgate.PerSecond(3), headgate.Segments(10), headgate.Strict(), headgate.Named("strict"))},
		{"leaky bucket", headgate.LeakyBucket(headgate.PerSecond(2), headgate.Burst(3), headgate.Named("leaky"))},
		{"token bucket", headgate.TokenBucket(headgate.PerSecond(2), headgate.Burst(3))},
	} {
		passed := 0
		for range 5 {
			if tryAcquire(ctx, limiter, l.limit) == nil {
				passed++
			}
		}
		fmt.Fprintf(w, "%s: %d of 5 pass\n", l.what, passed)
	}
	return strategies(ctx, w, clock, limiter)
}

// tryAcquire is the article's verb: nil, or an error that says what refused.
func tryAcquire(ctx context.Context, limiter *headgate.Limiter, limit headgate.Limit) error {
	decision, err := limiter.Allow(ctx, "laoqian", limit)
	if err != nil {
		return err
	}
	return decision.Err()
}

func strategies(ctx context.Context, w io.Writer, clock *headgatetest.Clock, limiter *headgate.Limiter) error {
	limit, err := headgate.SlidingWindow(headgate.PerSecond(2), headgate.And(headgate.PerMinute(5)),
		headgate.SegmentLength(100*time.Millisecond), headgate.Lenient(), headgate.Named("strategies"))
	if err != nil {
		return err
	}
	for i := range 9 {
		err := tryAcquire(ctx, limiter, limit)
		if denied := (*headgate.DeniedError)(nil); errors.As(err, &denied) {
			fmt.Fprintf(w, "call %d: violates %s\n", i, denied.Decision.Binding.Rate)
			clock.Advance(time.Second)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "call %d: passes\n", i)
	}
	for _, rates := range [][2]headgate.Rate{
		{headgate.PerSecond(5), headgate.PerMinute(5)},
		{headgate.PerSecond(5), headgate.Per(50, 1050*time.Millisecond)},
	} {
		_, err := headgate.SlidingWindow(rates[0], headgate.And(rates[1]), headgate.SegmentLength(100*time.Millisecond))
		fmt.Fprintln(w, err)
	}
	return nil
}
