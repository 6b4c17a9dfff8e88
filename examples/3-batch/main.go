// A sliding window asked one call at a time, and many calls in one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		return err
	}
	limiter := headgate.New(store)
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
		fmt.Printf("%s: allowed=%t remaining=%d\n", user, decision.Allowed, decision.Remaining)
	}

	// Each operation is decided and answered on its own, in order; the store
	// is asked once.
	ops := []headgate.Op{
		headgate.Take("alice", limit, 3),
		headgate.Take("alice", limit, 2),
		headgate.Take("bob", limit, 1),
		headgate.Peek("carol", limit, 1),
		headgate.Take("alice", limit, 1),
	}
	for i, result := range limiter.Do(ctx, ops) {
		if result.Err != nil {
			return result.Err
		}
		d := result.Decision
		fmt.Printf("%s %s %d: allowed=%t remaining=%d\n", ops[i].Kind, ops[i].Key, ops[i].Charges[0].Cost, d.Allowed, d.Remaining)
	}
	return nil
}
