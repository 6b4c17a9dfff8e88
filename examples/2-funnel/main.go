// A funnel of capacity 15 that leaks 0.5 a second: in Go, and with CL.THROTTLE
// from a Redis client.
package main

import (
	"context"
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

func main() {
	url := flag.String("store", open.Memory, "where limits are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, url string) error {
	if err := funnel(ctx, w, url); err != nil {
		return err
	}
	return throttle(ctx, w, url)
}

func funnel(ctx context.Context, w io.Writer, url string) error {
	opened, err := open.Open(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	limiter := headgate.New(headgate.WithStore(opened))
	defer limiter.Close()
	limit, err := headgate.Funnel(15, headgate.Per(30, time.Minute))
	if err != nil {
		return err
	}
	passed := 0
	for range 20 {
		decision, err := limiter.Allow(ctx, "laoqian:reply", limit)
		if err != nil {
			return err
		}
		if decision.Allowed {
			passed++
		}
	}
	fmt.Fprintf(w, "funnel of 15: %d of 20 pass\n", passed)
	return nil
}

// throttle runs a server, as `headgate serve` does, and asks it.
func throttle(ctx context.Context, w io.Writer, url string) error {
	server, err := daemon.New(ctx, daemon.Config{Store: url, RESP: "127.0.0.1:0", HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx, ctx) }()
	client := redis.NewClient(&redis.Options{Addr: server.RESPAddr().String()})
	if err := ask(ctx, w, client); err != nil {
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

func ask(ctx context.Context, w io.Writer, client *redis.Client) error {
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
	fmt.Fprintf(w, "CL.THROTTLE 15 30 60: %d of 20 pass, come back in %s\n", passed, wait)

	// Sleep what the fourth value says, and pass.
	time.Sleep(wait)
	allowed, _, err := take(ctx, client)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "after sleeping: allowed=%t\n", allowed)

	// Or let a timer come back, with no goroutine waiting meanwhile.
	done := make(chan error, 1)
	reschedule(ctx, w, client, done)
	return <-done
}

// reschedule takes, and if refused takes again when told.
func reschedule(ctx context.Context, w io.Writer, client *redis.Client, done chan<- error) {
	allowed, retry, err := take(ctx, client)
	switch {
	case err != nil:
		done <- err
	case allowed:
		fmt.Fprintln(w, "rescheduled: allowed=true")
		done <- nil
	default:
		fmt.Fprintf(w, "rescheduled in %s\n", retry)
		time.AfterFunc(retry, func() { reschedule(ctx, w, client, done) })
	}
}
