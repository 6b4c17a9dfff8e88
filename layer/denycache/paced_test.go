package denycache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/memstore"
)

// With a single process, every answer equals the store's in each field except the promise, for each limit and for any
// forward jumps of the clock.
func TestAnswersEqualTheStoresAnswers(t *testing.T) {
	for i, limit := range []engine.Limit{
		rule.TokenBucket(rule.PerSecond(10), rule.Burst(3)),
		rule.TokenBucket(rule.PerSecond(1000), rule.Burst(5)),
		rule.TokenBucket(rule.PerSecond(7), rule.Burst(3)),
		rule.TokenBucket(rule.PerSecond(10), rule.AllowDebt(2)),
		rule.SlidingLog(rule.PerSecond(5)),
		rule.FixedWindow(rule.PerSecond(5)),
	} {
		clock := headgatetest.NewClock()
		asked, err := memstore.New(memstore.Config{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		next := &counting{Store: asked}
		store, err := denycache.New(next, denycache.Config{MaxStale: 2 * time.Second, Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := memstore.New(memstore.Config{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(5, uint64(i)))
		const steps = 4000
		passed := 0
		for step := range steps {
			clock.Advance(time.Duration(r.Int64N(4)/3*r.Int64N(150_000)) * time.Microsecond)
			op := engine.Single(engine.OpAllow, "k", limit, 1)
			if r.IntN(40) == 0 {
				op.Kind = engine.OpGive
			}
			here, there := make([]engine.Answer, 1), make([]engine.Answer, 1)
			store.Do(context.Background(), []engine.Op{op}, here)
			plain.Do(context.Background(), []engine.Op{op}, there)
			here[0].Promise = engine.Promise{}
			if op.Kind == engine.OpAllow && here[0].Allowed {
				passed++
			}
			if x, y := fmt.Sprintf("%+v", here), fmt.Sprintf("%+v", there); x != y {
				t.Fatalf("%v, step %d, %s:\n here %s\nthere %s", limit, step, op.Kind, x, y)
			}
		}
		// A request goes to the store when a token has been refilled. Others are answered here, unless a give or the
		// age makes the denial uncertain.
		if next.asked > steps*9/10 || i == 0 && next.asked > passed*3/2 {
			t.Errorf("%v: asked %d times of %d, %d passed", limit, next.asked, steps, passed)
		}
	}
}

type counting struct {
	engine.Store
	asked int
}

func (c *counting) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	c.asked += len(ops)
	c.Store.Do(ctx, ops, results)
}

// If answers arrive out of order, at least nine tenths of the tokens are still used.
func TestAnswersOutOfOrderLoseNoToken(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(100), rule.Burst(1))
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Hour})
		r := rand.New(rand.NewPCG(1, 2))
		f.back = func() time.Duration { return time.Duration(r.IntN(100)) * time.Millisecond }
		passed := crowd(t, l, limit)
		t.Logf("%d passed, asked %d times", passed, f.asked)
		if passed < 900 || passed > 1001 {
			t.Errorf("%d passed", passed)
		}
	})
}

// With many concurrent callers on an empty bucket, nearly every refilled token is used, and at most three requests per
// used token reach the store.
func TestCrowdForwardsOneRequestPerToken(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(100), rule.Burst(2))
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: 500 * time.Millisecond})
		passed := crowd(t, l, limit)
		t.Logf("%d passed, asked %d times", passed, f.asked)
		if passed < 990 || passed > 1011 {
			t.Errorf("%d passed, want 1010 or slightly less", passed)
		}
		// Every half second the denial becomes too old, and all requests go to the store.
		if f.asked > 3*passed {
			t.Errorf("asked %d times for %d that passed", f.asked, passed)
		}
	})
}

// crowd sends requests from many goroutines for ten seconds and returns how many passed.
func crowd(t *testing.T, l *headgate.Limiter, limit engine.Limit) int {
	t.Helper()
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(time.Millisecond) {
				if allow(t, l, "k", limit).Allowed {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(passed.Load())
}

// If a forwarded request gets no answer, or its answer shows more tokens than expected, other callers still get all
// tokens.
func TestFailedRequestTakesNoToken(t *testing.T) {
	limit := rule.TokenBucket(rule.PerSecond(10), rule.Burst(1))
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Hour})
		allow(t, l, "k", limit)
		if allow(t, l, "k", limit).Allowed {
			t.Fatal("the only token of the burst was denied")
		}
		time.Sleep(95 * time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.mu.Lock()
		store := f.Store
		f.Store = failing{store}
		f.mu.Unlock()
		if _, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err == nil {
			t.Fatal("the forwarded request did not fail")
		}
		f.mu.Lock()
		f.Store = store
		f.mu.Unlock()
		if !allow(t, l, "k", limit).Allowed {
			t.Error("no other caller gets the token of the failed request")
		}
		if _, err := l.PolicyOf("", limit).Allow(ctx, "k"); err == nil {
			t.Error("a caller whose context ended got an answer")
		}
	})
}

// failing is a store whose calls all fail.
type failing struct{ engine.Store }

func (failing) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = headgate.ErrStoreUnavailable
	}
}
