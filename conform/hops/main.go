// Command hops makes one decision on a warm key, and writes the code coverage for only that decision. scripts/hops
// counts the files involved.
//
//	hops memory     Allow in memory
//	hops throttle   CL.THROTTLE in memory, from the command's bytes to the reply's
//	hops redis URL  Allow on Redis with all layers
//	hops envoy      ShouldRateLimit in memory
//	hops gateway    a request through the gateway that matches a route, in memory
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"runtime/coverage"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

func main() {
	log.Fatal(run(os.Args[1:], os.Getenv("GOCOVERDIR")))
}

// run exits on success, so that the coverage at exit does not overwrite the decision's coverage.
func run(args []string, to string) (failed error) {
	decide, err := way(args)
	if err != nil {
		return err
	}
	for range 3 {
		if err := decide(); err != nil {
			return err
		}
	}
	time.Sleep(100 * time.Millisecond) // let background work finish
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := decide(); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(to); err != nil {
		return err
	}
	os.Exit(0)
	return nil
}

// way returns the function that makes the decision selected by args.
func way(args []string) (decide func() error, err error) {
	ctx, limit := context.Background(), rule.TokenBucket(rule.PerSecond(10), rule.Burst(100))
	switch args[0] {
	case "memory":
		policy := operate.Policy(headgate.New(), "", limit)
		return func() error { _, err := policy.Allow(ctx, "key"); return err }, nil
	case "redis":
		opened, err := open.Store(ctx, args[1], open.Options{MaxStale: time.Second, Deadline: 10 * time.Second})
		policy := operate.Policy(headgate.New(headgate.WithStore(opened)), "", limit)
		return func() error { _, err := policy.Allow(ctx, "key"); return err }, err
	case "envoy":
		return shouldRateLimit(ctx)
	case "gateway":
		return proxied(ctx)
	default:
		return throttle(ctx)
	}
}

func throttle(ctx context.Context) (decide func() error, err error) {
	d, err := daemon.New(ctx, daemon.Config{RESP: "127.0.0.1:0", HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	go func() { _ = d.Run(ctx, ctx) }()
	conn, err := net.Dial("tcp", d.RESPAddr().String())
	if err != nil {
		return nil, err
	}
	answers := bufio.NewReader(conn)
	return func() error {
		if _, err := fmt.Fprint(conn, "*6\r\n$11\r\nCL.THROTTLE\r\n$3\r\nkey\r\n$2\r\n99\r\n$2\r\n10\r\n$1\r\n1\r\n$1\r\n1\r\n"); err != nil {
			return err
		}
		for range 6 {
			if _, err := answers.ReadString('\n'); err != nil {
				return err
			}
		}
		time.Sleep(10 * time.Millisecond) // by then the connection waits for the next command again
		return nil
	}, nil
}
