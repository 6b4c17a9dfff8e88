// This program runs a pool of workers. At most three jobs run at a time in all processes together. If a worker dies, its
// place stays occupied for at most the lease time.
//
//	go run ./10-workers -store redis://127.0.0.1:6379 &
//	go run ./10-workers -store redis://127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/open"
)

func main() {
	url := flag.String("store", open.Memory, "where permits are kept: memory, or the URL of a Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *url); err != nil {
		log.Fatal(err)
	}
}

const jobs, workers, atOnce = 12, 6, 3

func run(ctx context.Context, w io.Writer, url string) error { return runAll(ctx, w, url, job) }

func runAll(ctx context.Context, w io.Writer, url string, work func(context.Context) error) error {
	store, err := open.URL(ctx, url, open.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store), headgate.WithSpace("example-workers"))
	defer limiter.Close()
	render := limiter.Semaphore("render", headgate.Concurrency{Units: atOnce, Lease: 5 * time.Second})
	p := pool{places: render, work: work}
	if err := p.run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d jobs done by %d workers, never more than %d at a time here: %t\n", p.done.Load(), workers, atOnce, p.most.Load() <= atOnce)
	return nil
}

// job is the work that needs the permit. It ends when its context ends, because another worker may then hold its place.
func job(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pool runs the workers in this process.
type pool struct {
	places           *headgate.Semaphore
	work             func(context.Context) error
	running          atomic.Int64
	most, next, done atomic.Int64
}

func (p *pool) run(ctx context.Context) error {
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for p.next.Add(1) <= jobs && errs[i] == nil {
				errs[i] = p.runOne(ctx)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// runOne runs one job as soon as a place is free.
func (p *pool) runOne(ctx context.Context) error {
	permit, err := p.places.Acquire(ctx, "cluster", 1)
	if err != nil {
		return err
	}
	defer permit.Release(ctx) //nolint:errcheck // a lost release ends with the lease
	now := p.running.Add(1)
	for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); most = p.most.Load() {
	}
	defer p.running.Add(-1)
	if err := p.work(permit.Hold(ctx)); err != nil { // the permit is renewed while the job runs
		return err
	}
	p.done.Add(1)
	return nil
}
