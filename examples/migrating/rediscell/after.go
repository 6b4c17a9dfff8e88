//go:build ignore

package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6380"})
	defer client.Close()
	for range 3 {
		reply, err := client.Do(context.Background(), "CL.THROTTLE", "user123", 1, 2, 3600, 1).Int64Slice()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("denied", reply[0], "limit", reply[1], "remaining", reply[2], "retry", reply[3] > 0)
	}
}
