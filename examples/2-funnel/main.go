// This program uses a funnel with capacity 15 that leaks 0.5 units a second, both in Go and with CL.THROTTLE from a
// Redis client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

const key = "laoqian:reply"

// options give this program's keys a prefix of their own, so that they do not collide with the keys of other programs
// and servers on the same Redis.
var options = open.Options{SubPrefix: "example-funnel"}

func main() {
	url := flag.String("store", open.Memory, "where counters are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	if err := funnel(ctx, w, url); err != nil {
		return err
	}
	return serve(ctx, w, url)
}

func funnel(ctx context.Context, w io.Writer, url string) error {
	store, err := open.URL(ctx, url, options)
	if err != nil {
		return err
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	defer limiter.Close()
	replies := limiter.Policy("reply", headgate.TokenBucket{Rate: headgate.PerMinute(30), Burst: 15})
	// On Redis, the units that the previous run spent still count.
	if _, err := replies.Reset(ctx, key); err != nil {
		return err
	}
	passed := 0
	for range 20 {
		d, err := replies.Allow(ctx, key)
		if err != nil {
			return err
		}
		if d.Allowed {
			passed++
		}
	}
	fmt.Fprintf(w, "funnel of 15: %d of 20 pass\n", passed)
	return nil
}

// serve runs a server, like `headgate serve`, and a Redis client that calls the server.
func serve(ctx context.Context, w io.Writer, url string) error {
	server, err := daemon.New(ctx, daemon.Config{
		Store: url, StoreOptions: options, RESP: "127.0.0.1:0", HTTP: daemon.Off,
		AllowWrites: true, // for the DEL in burst
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(serving, serving) }()
	client := redis.NewClient(&redis.Options{Addr: server.RESPAddr().String()})
	err = errors.Join(burst(ctx, w, client), waitAndRetry(ctx, w, client), client.Close())
	stop()
	return errors.Join(err, <-stopped)
}

// throttle sends CL.THROTTLE laoqian:reply 15 30 60 1. It returns whether the request passes and, in whole seconds, the
// time until a retry.
func throttle(ctx context.Context, client *redis.Client) (allowed bool, retryAfter time.Duration, err error) {
	reply, err := client.Do(ctx, "CL.THROTTLE", key, 15, 30, 60, 1).Int64Slice()
	if err != nil {
		return false, 0, fmt.Errorf("throttle: %w", err)
	}
	return reply[0] == 0, time.Duration(reply[3]) * time.Second, nil
}

// burst sends 20 requests at once: max_burst 15 lets 16 pass.
func burst(ctx context.Context, w io.Writer, client *redis.Client) error {
	if err := client.Del(ctx, key).Err(); err != nil { // a reset
		return err
	}
	passed := 0
	for range 20 {
		allowed, _, err := throttle(ctx, client)
		if err != nil {
			return err
		}
		if allowed {
			passed++
		}
	}
	fmt.Fprintf(w, "CL.THROTTLE 15 30 60: %d of 20 pass\n", passed)
	return nil
}

// waitAndRetry waits for as long as the server says: the first time with a sleep, and then with a timer, which does not
// block a goroutine.
func waitAndRetry(ctx context.Context, w io.Writer, client *redis.Client) error {
	_, retryAfter, err := throttle(ctx, client)
	if err != nil {
		return err
	}
	time.Sleep(retryAfter)
	allowed, _, err := throttle(ctx, client)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "after sleeping: allowed=%t\n", allowed)

	done := make(chan error, 1)
	schedule(ctx, w, client, done)
	return <-done
}

// schedule sends a request. If the request is denied, a timer sends it again.
func schedule(ctx context.Context, w io.Writer, client *redis.Client, done chan<- error) {
	allowed, retryAfter, err := throttle(ctx, client)
	switch {
	case err != nil:
		done <- err
	case allowed:
		fmt.Fprintln(w, "scheduled: allowed=true")
		done <- nil
	default:
		fmt.Fprintln(w, "denied: scheduled again")
		time.AfterFunc(retryAfter, func() { schedule(ctx, w, client, done) })
	}
}
