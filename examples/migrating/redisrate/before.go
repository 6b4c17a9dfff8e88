//go:build ignore

package main

import (
	"context"
	"fmt"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	limiter := redis_rate.NewLimiter(client)
	for range 3 {
		result, err := limiter.Allow(context.Background(), "project:123", redis_rate.PerHour(2))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Allowed, result.Remaining, result.RetryAfter > 0)
	}
}
