//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

func main() {
	limiter := rate.NewLimiter(rate.Every(time.Minute), 5) // one a minute, 5 at once
	for range 6 {
		fmt.Println(limiter.Allow())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(limiter.Wait(ctx) == nil) // a minute is too long: it fails at once
}
