// This program uses several algorithms: a fixed window, sliding windows with small segments, a leaky bucket, a token
// bucket, and a sliding log with several windows.
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
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-strategies"))
	defer limiter.Close()
	for _, p := range []*headgate.Policy{
		limiter.Policy("fixed-window", headgate.FixedWindow{Rate: headgate.PerHour(3)}),
		limiter.Policy("sliding-window-lenient", headgate.SlidingWindow{Rate: headgate.PerHour(3), Segments: 10, Variant: headgate.Lenient}),
		limiter.Policy("sliding-window-strict", headgate.SlidingWindow{Rate: headgate.PerHour(3), Segments: 10, Variant: headgate.Strict}),
		limiter.Policy("leaky-bucket", headgate.TokenBucket{Rate: headgate.PerHour(2), Burst: 3}),
		limiter.Policy("token-bucket", headgate.TokenBucket{Rate: headgate.PerHour(2), Burst: 3}),
	} {
		if err := five(ctx, w, p); err != nil {
			return err
		}
	}
	if err := twoWindows(ctx, w, limiter); err != nil {
		return err
	}
	wrongWindows(w, limiter)
	return nil
}

const key = "laoqian"

// five sends five requests at once.
func five(ctx context.Context, w io.Writer, p *headgate.Policy) error {
	// On Redis, the units that the previous run spent still count.
	if _, err := p.Reset(ctx, key); err != nil {
		return err
	}
	passed, name := 0, ""
	for range 5 {
		err := tryAcquire(ctx, p)
		var denied *headgate.DeniedError
		switch {
		case err == nil:
			passed++
		case errors.As(err, &denied):
			name = denied.Decision.Binding.Policy
		default:
			return err
		}
	}
	fmt.Fprintf(w, "%s: %d of 5 pass\n", name, passed)
	return nil
}

// tryAcquire returns nil if the request passes, and otherwise an error. A denial is an error too.
func tryAcquire(ctx context.Context, p *headgate.Policy) error {
	d, err := p.Allow(ctx, key)
	if err != nil {
		return err
	}
	return d.Err()
}

// twoWindows prints which window denies a request. The limits are two requests in 2 s and three in an hour.
func twoWindows(ctx context.Context, w io.Writer, limiter *headgate.Limiter) error {
	p := limiter.Policy("two-windows", headgate.SlidingLog{Rate: headgate.Per(2, 2*time.Second), And: []headgate.Rate{headgate.PerHour(3)}})
	if _, err := p.Reset(ctx, key); err != nil {
		return err
	}
	for i := 0; ; i++ {
		err := tryAcquire(ctx, p)
		if err == nil {
			fmt.Fprintf(w, "request %d: passes\n", i)
			continue
		}
		var denied *headgate.DeniedError
		if !errors.As(err, &denied) {
			return err
		}
		fmt.Fprintf(w, "request %d: denied by the window %s\n", i, denied.Decision.Binding.Rate)
		if denied.Decision.RetryAfter > time.Minute {
			return nil // too long to wait here
		}
		time.Sleep(denied.Decision.RetryAfter)
	}
}

// wrongWindows prints the errors for two invalid limits. If a limit is invalid, the policy returns the limit's error.
func wrongWindows(w io.Writer, limiter *headgate.Limiter) {
	for _, longer := range []headgate.Rate{headgate.PerMinute(5), headgate.Per(50, 1050*time.Millisecond)} {
		limit := headgate.SlidingWindow{Rate: headgate.PerSecond(5), And: []headgate.Rate{longer}, SegmentLength: 100 * time.Millisecond}
		fmt.Fprintln(w, limiter.Policy("wrong", limit).Err())
	}
}
