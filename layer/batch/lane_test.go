package batch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/memstore"
)

// halved is a store with two parts. Calls with an operation on the second part, with the key "away", block while away
// is set. calls counts the calls with operations on both parts.
type halved struct {
	engine.Store
	away         atomic.Bool
	mixed, calls atomic.Int64
}

func part(op *engine.Op, _ int) int { return len(op.Key) % 2 }

func (h *halved) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	h.calls.Add(1)
	blocked := false
	for i := range ops {
		blocked = blocked || ops[i].Key == "away"
		if part(&ops[i], 0) != part(&ops[0], 0) {
			h.mixed.Add(1)
			break
		}
	}
	if blocked && h.away.Load() {
		<-ctx.Done()
		for i := range results {
			results[i].Err = engine.ErrStoreUnavailable
		}
		return
	}
	time.Sleep(time.Millisecond)
	h.Store.Do(ctx, ops, results)
}

// While a part of the store is unavailable, its operations do not delay operations on other parts, except operations
// that were sent or queued with them before the failure was detected. When the part answers again, all operations share
// calls again (regression: bug 83).
func TestPartAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		next := &halved{Store: memory}
		store, err := batch.New(next, batch.Config{Lane: part})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		const deadline = 50 * time.Millisecond
		do := func(key string) error {
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			results := make([]engine.Answer, 1)
			op := engine.Single(engine.OpAllow, key, five, 1)
			op.Space = "s"
			store.Do(ctx, []engine.Op{op}, results)
			return results[0].Err
		}
		var failed, passed atomic.Int64
		run := func(span time.Duration) {
			failed.Store(0)
			passed.Store(0)
			var callers sync.WaitGroup
			for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(time.Millisecond) {
				for range 3 { // more than calls in flight, so that some share a call
					callers.Go(func() { _ = do("away") })
					callers.Go(func() {
						if do("other") != nil {
							failed.Add(1)
						} else {
							passed.Add(1)
						}
					})
				}
			}
			callers.Wait()
		}
		next.away.Store(true)
		run(3 * deadline)
		if failed.Load() == 0 {
			t.Error("nothing shows that the parts shared calls")
		}
		next.mixed.Store(0)
		if run(time.Second); failed.Load() != 0 || passed.Load() == 0 || next.mixed.Load() != 0 {
			t.Errorf("%d of %d operations on the other part failed, %d calls were mixed", failed.Load(), failed.Load()+passed.Load(), next.mixed.Load())
		}
		next.away.Store(false)
		run(2 * deadline)
		next.mixed.Store(0)
		if run(time.Second); failed.Load() != 0 || next.mixed.Load() == 0 {
			t.Errorf("%d operations failed, %d calls were mixed", failed.Load(), next.mixed.Load())
		}
	})
}

// While two calls are in flight, a third is made once half of a full call waits, without callers that have left. When a
// call returns and two are left, fewer operations go on waiting.
func TestThirdCallIsForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{MaxOps: 8})
		defer store.Close()
		ask := func(ctx context.Context, key string) {
			go l.PolicyOf("", five).Allow(ctx, key)
			synctest.Wait()
		}
		calls := func(want string) {
			t.Helper()
			if got := g.seen(); got != want {
				t.Errorf("calls %q, want %q", got, want)
			}
		}
		leaves, leave := context.WithCancel(context.Background())
		for _, key := range []string{"a", "b", "c", "d"} {
			ask(context.Background(), key)
		}
		ask(leaves, "left")
		calls("a|b")
		leave()
		synctest.Wait()
		ask(context.Background(), "e")
		calls("a|b")
		ask(context.Background(), "f")
		calls("a|b|c d e f")
		for range 5 {
			ask(context.Background(), "g")
		}
		calls("a|b|c d e f")
		g.open <- struct{}{} // one returns
		synctest.Wait()
		calls("a|b|c d e f|g g g g g")
		ask(context.Background(), "h")
		g.open <- struct{}{}
		synctest.Wait()
		calls("a|b|c d e f|g g g g g")
		g.open <- struct{}{}
		synctest.Wait()
		calls("a|b|c d e f|g g g g g|h")
		close(g.open)
	})
}
