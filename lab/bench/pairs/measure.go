package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// measure prints the sample for one row. It first sends one request for each key, so that every key has a state.
func measure(ctx context.Context, name, redis string, lasts time.Duration) error {
	at := slices.IndexFunc(rows, func(r decisionKind) bool { return r.name == name })
	if at < 0 {
		return fmt.Errorf("-row %q: no such row", name)
	}
	r := rows[at]
	w, err := r.make(ctx, redis)
	if err != nil {
		return err
	}
	defer w.done()
	for _, key := range keys {
		if err := w.ask(key); err != nil {
			return err
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from, err := w.cpu(ctx)
	if err != nil {
		return err
	}
	decided, err := repeat(r, w, lasts)
	if err != nil {
		return err
	}
	to, err := w.cpu(ctx)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	return json.NewEncoder(os.Stdout).Encode(sample{
		CPU:         float64((to - from).Nanoseconds()) / float64(decided),
		Allocations: float64(after.Mallocs-before.Mallocs) / float64(decided),
	})
}

// repeat makes decisions for the given time, with the row's number of callers, and returns the number of decisions.
func repeat(r decisionKind, w work, lasts time.Duration) (int64, error) {
	var decided atomic.Int64
	callers := max(1, r.callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	stop := time.Now().Add(lasts)
	for caller := range callers {
		wg.Go(func() {
			var own int64
			for n := caller * 997; errs[caller] == nil && time.Now().Before(stop); n++ {
				own, errs[caller] = own+few, askFew(w, n*few)
			}
			decided.Add(own)
		})
	}
	wg.Wait()
	return decided.Load(), errors.Join(errs...)
}

// few is the number of decisions between two readings of the clock.
const few = 16

func askFew(w work, from int) error {
	for i := range few {
		if err := w.ask(keys[(from+i)%len(keys)]); err != nil {
			return err
		}
	}
	return nil
}

// ownCPU returns the CPU time used by this process.
func ownCPU(context.Context) (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
