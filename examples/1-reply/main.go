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
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-reply"))
	defer limiter.Close()

	for _, replies := range []*headgate.Policy{
		limiter.Policy("reply", headgate.SlidingLog{Rate: headgate.PerMinute(5)}),
		limiter.Policy("reply-count-denied", headgate.SlidingLog{Rate: headgate.PerMinute(5), CountDenied: true}),
	} {
		if err := reply(ctx, w, replies); err != nil {
			return err
		}
	}
	return nil
}

// reply sends 20 replies, and then 5 in one request.
func reply(ctx context.Context, w io.Writer, replies *headgate.Policy) error {
	key := headgate.Key("laoqian", "reply")
	// On Redis, the units that the previous run spent still count.
	if _, err := replies.Reset(ctx, key); err != nil {
		return err
	}
	passed := 0
	var d headgate.Decision
	var err error
	for range 20 {
		if d, err = replies.Allow(ctx, key); err != nil {
			return err
		}
		if d.Allowed {
			passed++
		}
	}
	fmt.Fprintf(w, "%s: %d of 20 pass\n", d.Binding.Policy, passed)

	// If denied requests counted, each would restart the wait of one minute.
	time.Sleep(10 * time.Millisecond)
	if d, err = replies.AllowN(ctx, key, 5); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: 5 more: allowed=%t, wait restarted=%t\n", d.Binding.Policy, d.Allowed, d.RetryAfter == time.Minute)
	return nil
}
