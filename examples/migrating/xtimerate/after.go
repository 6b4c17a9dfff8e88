//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate"
)

func main() {
	limiter := headgate.New().Policy("calls", headgate.TokenBucket{Rate: headgate.PerMinute(1), Burst: 5})
	for range 6 {
		d, err := limiter.Allow(context.Background(), "all")
		fmt.Println(err == nil && d.Allowed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := limiter.Wait(ctx, "all") // a minute is too long: it fails at once
	fmt.Println(err == nil)
}
