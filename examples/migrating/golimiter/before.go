//go:build ignore

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
)

func main() {
	store, err := memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(context.Background())
	for range 3 {
		tokens, remaining, _, ok, err := store.Take(context.Background(), "alice")
		fmt.Println(tokens, remaining, ok, err)
	}
}
