// This program opens a store by its URL, so that several processes can share a policy's counters.
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
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	store, err := open.URL(ctx, url, open.Options{SubPrefix: "example-store"}) // its own keys
	if err != nil {
		return err
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.FixedWindow{Rate: headgate.PerHour(2)})
	// On Redis, the units that the previous run spent still count.
	if _, err := perUser.Reset(ctx, "alice"); err != nil {
		return err
	}
	for range 3 {
		d, err := perUser.Allow(ctx, "alice")
		if err != nil {
			return err
		}
		fmt.Fprintln(w, d.Allowed, d.Remaining)
	}
	return nil
}
