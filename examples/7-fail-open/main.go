// This program fails open: every request passes while the store does not answer.
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
	store, err := open.URL(context.Background(), *url, open.Options{SubPrefix: "example-fail-open"}) // its own keys
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	if err := run(context.Background(), os.Stdout, limiter); err != nil {
		log.Print(err)
	}
}

// pass reports whether a request passes. It returns within 500 ms.
func pass(ctx context.Context, perUser *headgate.Policy, user string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	d, err := perUser.Allow(ctx, user)
	if errors.Is(err, headgate.ErrStoreUnavailable) {
		return true, nil // fail open; return the error instead to fail closed
	}
	return d.Allowed, err
}

// run sends three requests. Two are within the limit.
func run(ctx context.Context, w io.Writer, limiter *headgate.Limiter) error {
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	for range 3 {
		passes, err := pass(ctx, perUser, "alice")
		if err != nil {
			return err
		}
		fmt.Fprintln(w, "passes:", passes)
	}
	return nil
}
