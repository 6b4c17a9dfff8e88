// A funnel of capacity 15 that leaks 0.5 a second: in Go, and with CL.THROTTLE
// from a Redis client.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/daemon"
)

func main() {
	if err := funnel(); err != nil {
		log.Fatal(err)
	}
	if err := throttle(); err != nil {
		log.Fatal(err)
	}
}

func funnel() error {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return err
	}
	limiter := headgate.New(store)
	defer limiter.Close()
	limit, err := headgate.Funnel(15, headgate.Per(30, time.Minute))
	if err != nil {
		return err
	}
	passed := 0
	for range 20 {
		decision, err := limiter.Allow(context.Background(), "laoqian:reply", limit)
		if err != nil {
			return err
		}
		if decision.Allowed {
			passed++
		}
	}
	fmt.Printf("funnel of 15: %d of 20 pass\n", passed)
	return nil
}

// throttle runs a server, as `headgate serve` does, and asks it.
func throttle() error {
	server, err := daemon.New(daemon.Config{RESP: "127.0.0.1:0", HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx, ctx) }()
	client := redis.NewClient(&redis.Options{Addr: server.RESPAddr().String()})
	if err := ask(ctx, client); err != nil {
		return err
	}
	if err := client.Close(); err != nil {
		return err
	}
	stop()
	return <-stopped
}

// take is one CL.THROTTLE laoqian:reply 15 30 60 1: whether it passes, and the
// seconds after which it would.
func take(ctx context.Context, client *redis.Client) (allowed bool, retry time.Duration, err error) {
	reply, err := client.Do(ctx, "CL.THROTTLE", "laoqian:reply", 15, 30, 60, 1).Int64Slice()
	if err != nil {
		return false, 0, err
	}
	return reply[0] == 0, time.Duration(reply[3]) * time.Second, nil
}

func ask(ctx context.Context, client *redis.Client) error {
	passed, wait := 0, time.Duration(0)
	for range 20 {
		allowed, retry, err := take(ctx, client)
		if err != nil {
			return err
		}
		if allowed {
			passed++
		}
		wait = retry
	}
	fmt.Printf("CL.THROTTLE 15 30 60: %d of 20 pass, come back in %s\n", passed, wait)

	// Sleep what the fourth value says, and pass.
	time.Sleep(wait)
	allowed, _, err := take(ctx, client)
	if err != nil {
		return err
	}
	fmt.Printf("after sleeping: allowed=%t\n", allowed)

	// Or let a timer come back, with no goroutine waiting meanwhile.
	done := make(chan error, 1)
	reschedule(ctx, client, done)
	return <-done
}

// reschedule takes, and if refused takes again when told.
func reschedule(ctx context.Context, client *redis.Client, done chan<- error) {
	allowed, retry, err := take(ctx, client)
	switch {
	case err != nil:
		done <- err
	case allowed:
		fmt.Println("rescheduled: allowed=true")
		done <- nil
	default:
		fmt.Printf("rescheduled in %s\n", retry)
		time.AfterFunc(retry, func() { reschedule(ctx, client, done) })
	}
}
