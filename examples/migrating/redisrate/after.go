//go:build ignore

package main

import (
	"context"
	"fmt"

	"github.com/headgate/headgate"
	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	"github.com/headgate/headgate/redisstore"
	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	defer client.Close()
	conn, err := goredisadapter.New(client)
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := redisstore.New(conn, redisstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	project := headgate.New(headgate.WithStore(store)).Policy("project", headgate.TokenBucket{Rate: headgate.PerHour(2)})
	for range 3 {
		d, err := project.Allow(context.Background(), "123")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Granted, d.Remaining, d.RetryAfter > 0)
	}
}
