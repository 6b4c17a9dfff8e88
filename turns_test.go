package headgate_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// oneStore is a store that several limiters use, each as another process would.
type oneStore struct{ engine.Store }

func (oneStore) Close() error { return nil }

// calls runs processes with 20 callers each, which hold one of 5 permits for the given time, and returns how many calls
// each process made. Each process starts later than the one before.
func calls(t *testing.T, processes int, held, later, length time.Duration) (made []int64) {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	made = make([]int64, processes)
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	for i := range made {
		l := headgate.New(headgate.WithStore(oneStore{store}))
		defer l.Close()
		p := l.Semaphore("calls", headgate.Concurrency{Units: 5})
		for range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * later)
				for {
					permit, err := p.Acquire(ctx, "model", 1)
					if err != nil {
						return
					}
					time.Sleep(held)
					_ = permit.Release(ctx)
					mu.Lock()
					made[i]++
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	return made
}

// Each of several processes with waiting callers gets at least half of its part, whichever came first. Turns are taken at
// random, so it takes a while (regression: bug 160).
func TestProcessesTakeTurns(t *testing.T) {
	for name, c := range map[string]struct{ held, later, length time.Duration }{
		"short calls":     {10 * time.Millisecond, 0, time.Minute},
		"calls of 100 ms": {100 * time.Millisecond, 0, 4 * time.Minute},
		"started later":   {100 * time.Millisecond, 2 * time.Second, 4 * time.Minute},
		"calls of 2 s":    {2 * time.Second, 0, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := calls(t, 3, c.held, c.later, c.length)
				sum := made[0] + made[1] + made[2]
				for i, n := range made {
					if 6*n < sum {
						t.Errorf("process %d made %d of %d calls: %v", i, n, sum, made)
					}
				}
				if least := int64(5*c.length/c.held) * 19 / 20; sum < least {
					t.Errorf("%d calls, %v; want %d at least", sum, made, least)
				}
				t.Log(made, sum)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if made := calls(t, 1, 10*time.Millisecond, 0, 30*time.Second); made[0] < 15000*19/20 {
			t.Errorf("a process without others made %d of 15000 calls", made[0])
		}
	})
}
