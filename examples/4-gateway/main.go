// A gateway's request limiter: replenish rate, burst capacity and requested
// tokens are a token bucket's rate, burst and cost.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

const (
	replenishRate   = 10 // tokens a second
	burstCapacity   = 20
	requestedTokens = 3 // by each request
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		return err
	}
	limiter := headgate.New(store)
	defer limiter.Close()
	limit, err := headgate.TokenBucket(headgate.PerSecond(replenishRate), headgate.Burst(burstCapacity))
	if err != nil {
		return err
	}
	for i := range 9 {
		decision, err := limiter.AllowN(ctx, headgate.Key("route", "10.0.0.7"), limit, requestedTokens)
		if err != nil {
			return err
		}
		if decision.Allowed {
			fmt.Printf("request %d: passes, %d tokens left\n", i, decision.Remaining)
			continue
		}
		// The classic script counts whole seconds and forgets the fraction.
		fmt.Printf("request %d: refused, passes in %s\n", i, decision.RetryAfter)
		clock.Advance(decision.RetryAfter)
	}
	return nil
}
