package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/examples/internal/exampletest"
	"github.com/headgate/headgate/lab/redistest"
)

const printed = "12 jobs done by 6 workers, never more than 3 at a time here: true\n"

func TestPrints(t *testing.T) { exampletest.Prints(t, run, printed) }

// TestMain lets the test binary act as the program if its environment contains the address of a Redis.
func TestMain(m *testing.M) {
	address := os.Getenv("EXAMPLE_WORKERS_REDIS")
	if address == "" {
		os.Exit(m.Run())
	}
	if err := runAll(context.Background(), os.Stdout, "redis://"+address+"?deadline=10s", counted(address)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// counted returns a job that fails if too many jobs are running. Jobs are counted on Redis itself.
func counted(address string) func(context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	return func(ctx context.Context) error {
		running, err := client.Incr(ctx, "running").Result()
		if err != nil {
			return err
		}
		if running > atOnce {
			return fmt.Errorf("%d jobs run at a time", running)
		}
		if err := job(ctx); err != nil {
			return err
		}
		return client.Decr(ctx, "running").Err()
	}
}

// At most three jobs run at a time in all processes that share a Redis.
func TestProcessesShareThePlaces(t *testing.T) {
	address := redistest.Standalone(t, redistest.Redis).Addr()
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			var out bytes.Buffer
			process := exec.CommandContext(t.Context(), os.Args[0])
			process.Env = append(os.Environ(), "EXAMPLE_WORKERS_REDIS="+address)
			process.Stdout, process.Stderr = &out, &out
			if err := process.Run(); err != nil || out.String() != printed {
				t.Errorf("%v: %s", err, &out)
			}
		})
	}
	group.Wait()
}
