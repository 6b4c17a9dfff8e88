// Command 12-shares decides by a share of the limit while Redis is unavailable.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
)

func main() {
	store, err := open.URL(context.Background(), "redis://127.0.0.1:6379", open.Options{
		StartAway: true,                        // it may be away at the start
		Fallback:  &fallback.Config{Expect: 3}, // shares of three processes at least
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	perUser := limiter.Policy("per-user", headgate.TokenBucket{Rate: headgate.PerSecond(30)})
	time.Sleep(time.Second) // a share is empty if Redis has never answered: 10 a second of the 30
	d, err := perUser.Allow(context.Background(), "alice")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed, d.Remaining, d.Promise.Mode) // true 9 fallback
}
