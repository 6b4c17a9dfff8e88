package batch_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// gate is a store whose calls block until it is opened or their contexts end.
type gate struct {
	engine.Store
	open chan struct{}

	mu        sync.Mutex
	calls     [][]string // the keys of each call
	decided   []string   // keys, in the order of decision after the gate opened
	deadlines []time.Duration
}

func (g *gate) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	var keys []string
	for i := range ops {
		keys = append(keys, strings.Clone(ops[i].Key))
	}
	g.mu.Lock()
	g.calls = append(g.calls, keys)
	deadline, _ := ctx.Deadline()
	g.deadlines = append(g.deadlines, time.Until(deadline))
	g.mu.Unlock()
	select {
	case <-g.open:
		for i := range ops {
			g.mu.Lock()
			g.decided = append(g.decided, strings.Clone(ops[i].Key))
			g.mu.Unlock()
		}
		g.Store.Do(ctx, ops, results)
	case <-ctx.Done():
		for i := range results {
			results[i].Err = ctx.Err()
		}
	}
}

func (g *gate) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var calls []string
	for _, keys := range g.calls {
		calls = append(calls, strings.Join(keys, " "))
	}
	return strings.Join(calls, "|")
}

func start(t *testing.T, c batch.Config) (*gate, *batch.Store, *headgate.Limiter) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Store: memory, open: make(chan struct{})}
	store, err := batch.New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	return g, store, headgate.New(headgate.WithStore(store))
}

var five = rule.FixedWindow(rule.PerMinute(5))

// While fewer than two calls are in flight, or none if only one may be, an operation is sent at once, alone. Operations
// that arrive later share the next call, in the order of arrival, and each caller gets its own decision.
func TestWaitingCallersShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{InFlight: 1})
		defer store.Close()
		var mu sync.Mutex
		var allowed []int
		for i := range 8 {
			go func() {
				d, err := l.PolicyOf("", five).Allow(context.Background(), "k")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if d.Allowed {
					allowed = append(allowed, i)
				}
			}()
			synctest.Wait()
		}
		if got := store.Stats(); got.Calls != 1 || got.Waiting != 7 {
			t.Errorf("%+v, want 1 call and 7 that wait", got)
		}
		close(g.open)
		synctest.Wait()
		if got, want := g.seen(), "k|k k k k k k k"; got != want {
			t.Errorf("calls %q, want %q", got, want)
		}
		if got := store.Stats(); got != (batch.Stats{Calls: 2, Ops: 8}) {
			t.Errorf("%+v, want 2 calls and 8 operations", got)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, i := range allowed {
			if i > 4 || len(allowed) != 5 {
				t.Errorf("%v were allowed, want the first five", allowed)
			}
		}
	})
}

// A call contains at most MaxOps operations and MaxBytes bytes, and a caller's own batch is never split.
func TestCallsAreBounded(t *testing.T) {
	for want, c := range map[string]batch.Config{
		"a|b b|c d|e": {InFlight: 1, MaxOps: 2},
		"a|b b c d|e": {InFlight: 1, MaxOps: 4},
		"a|b b|c|d|e": {InFlight: 1, MaxOps: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, store, l := start(t, c)
			defer store.Close()
			for _, keys := range []string{"a", "bb", "c", "d", "e"} {
				go func() {
					var ops []engine.Op
					for _, key := range keys {
						ops = append(ops, engine.Single(engine.OpAllow, string(key), five, 1))
					}
					for _, r := range l.Core().Decide(context.Background(), ops...) {
						if r.Err != nil || !r.Allowed {
							t.Errorf("%s: %+v", keys, r)
						}
					}
				}()
				synctest.Wait()
			}
			close(g.open)
			synctest.Wait()
			if got := g.seen(); got != want {
				t.Errorf("calls %q, want %q", got, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{InFlight: 1, MaxBytes: 1024})
		defer store.Close()
		for range 5 {
			go func() { _, _ = l.PolicyOf("", five).Allow(context.Background(), strings.Repeat("k", 400)) }()
			synctest.Wait()
		}
		close(g.open)
		synctest.Wait()
		if got := strings.Count(g.seen(), "|"); got != 2 {
			t.Errorf("%d calls, want 1 of one and 2 of two keys", got+1)
		}
	})
}

// hasClass checks that logs and clients are told the same of an error as of the store's own error of the class.
func hasClass(t *testing.T, err error, class redisstore.Class) {
	t.Helper()
	named, ok := errors.AsType[interface {
		error
		Name() string
		Public() string
	}](err)
	if want := (&redisstore.Error{Class: class}).Public(); !ok || named.Name() != class.String() || named.Public() != want {
		t.Errorf("%v: want class %s and the text %q", err, class, want)
	}
}

// If a caller leaves the queue, its operation is not sent. If it leaves while its operation is in flight, it gets
// ErrOutcomeUnknown, and may reuse its memory. The errors have the classes of the store's own (regression: bug 239).
func TestCallersMayLeaveAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{InFlight: 1})
		defer store.Close()
		key := []byte("in flight")
		within := func(d time.Duration, key string) error {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			_, err := l.PolicyOf("", five).Allow(ctx, key)
			return err
		}
		go func() { _ = within(2*time.Second, "first") }()
		synctest.Wait()
		err := within(time.Second, "queued")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, headgate.ErrStoreUnavailable) || errors.Is(err, headgate.ErrOutcomeUnknown) {
			t.Errorf("left the queue: %v", err)
		}
		hasClass(t, err, redisstore.Unsent)
		// The first call ends. In the next one, one caller leaves before the other.
		go func() {
			err := within(2*time.Second, unsafe.String(&key[0], len(key)))
			copy(key, "elsewhere")
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, headgate.ErrOutcomeUnknown) || !errors.Is(err, headgate.ErrStoreUnavailable) {
				t.Errorf("left while in flight: %v", err)
			}
			hasClass(t, err, redisstore.OutcomeUnknown)
		}()
		synctest.Wait()
		go func() { _ = within(9*time.Second, "patient") }()
		synctest.Wait()
		go func() { _ = within(4*time.Second, "less") }()
		time.Sleep(5 * time.Second)
		if got, want := g.seen(), "first|in flight patient less"; got != want {
			t.Errorf("calls %q, want %q", got, want)
		}
		if got := g.deadlines[1]; got != 9*time.Second {
			t.Errorf("the call may take %v, want a second more than the latest deadline of its waiters: 8s", got)
		}
		close(g.open)
		synctest.Wait()
		if len(g.decided) == 0 || g.decided[0] != "in flight" {
			t.Errorf("decided %q; want the key in flight as it was", g.decided)
		}
		if d, err := l.PolicyOf("", five).Peek(context.Background(), "in flight", 1); err != nil || d.Remaining != 5 {
			t.Errorf("%d left, %v; want 5: what the operation in flight took is given back", d.Remaining, err)
		}
		if got := store.Stats(); got.Waiting != 0 {
			t.Errorf("%+v, want none waiting", got)
		}
	})
}

// 30 000 callers of a hanging store each leave at their deadline. Callers beyond the queue's bound are rejected at
// once. No state of callers that have left is retained.
func TestCrowdLeavesAtItsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		callers := raced.Size(30_000, 8000)
		g, store, l := start(t, batch.Config{InFlight: 4, MaxQueue: callers - 10})
		began := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		full := 0
		for i := range callers {
			wg.Go(func() {
				patience := time.Duration(1+i%100) * time.Millisecond
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				_, err := l.PolicyOf("", five).Allow(ctx, strconv.Itoa(i))
				switch {
				case errors.Is(err, batch.ErrQueueFull):
					mu.Lock()
					full++
					mu.Unlock()
				case !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("%v", err)
				case time.Since(began) > patience:
					t.Errorf("a deadline of %v ended after %v", patience, time.Since(began))
				}
			})
		}
		wg.Wait()
		time.Sleep(2 * time.Second) // calls continue for a second after their callers have left
		// Two callers made calls themselves, and are not in the queue.
		if got := store.Stats(); got.Waiting != 0 || got.Refused != int64(full) || full != 8 {
			t.Errorf("%+v, %d refused", got, full)
		}
		close(g.open)
		if _, err := l.PolicyOf("", five).Allow(context.Background(), "after"); err != nil {
			t.Errorf("after the crowd: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// On Close, waiting callers get ErrClosed, callers in flight get the error that ends their calls, and no goroutine is
// left.
func TestCloseAnswersAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store, l := start(t, batch.Config{InFlight: 2})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_, err := l.PolicyOf("", five).Allow(ctx, "k")
				if i > 1 && !errors.Is(err, headgate.ErrClosed) || i < 2 && err == nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		results := []engine.Answer{{}}
		store.Do(context.Background(), []engine.Op{engine.Single(engine.OpAllow, "k", five, 1)}, results)
		if !errors.Is(results[0].Err, headgate.ErrClosed) {
			t.Errorf("after Close: %v", results[0].Err)
		}
	})
}

// Callers may leave while Close answers them (regression: bug 285).
func TestCallersLeaveDuringClose(t *testing.T) {
	for range 50 {
		_, store, l := start(t, batch.Config{InFlight: 1})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if d, err := l.PolicyOf("", five).Allow(ctx, "k"); err == nil {
					t.Errorf("%+v, want an error", d)
				}
			})
		}
		<-ctx.Done()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		cancel()
	}
}

// An operation that already has an error keeps it and is not sent. Settings out of range cause errors.
func TestInvalidOperationsAndSettings(t *testing.T) {
	g, store, l := start(t, batch.Config{})
	defer store.Close()
	close(g.open)
	r := l.Core().Decide(context.Background(), engine.Single(engine.OpAllow, "", five, 1), engine.Single(engine.OpAllow, "k", five, 1))
	if !errors.Is(r[0].Err, headgate.ErrInvalid) || r[1].Err != nil {
		t.Errorf("%v, %v", r[0].Err, r[1].Err)
	}
	for field, c := range map[string]batch.Config{
		"in_flight": {InFlight: -1}, "max_ops": {MaxOps: 1001}, "max_bytes": {MaxBytes: 1}, "max_queue": {MaxQueue: -1},
	} {
		var bad *engine.InputError
		if _, err := batch.New(g, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
}

// A call has a deadline even if its callers set none. Without one, the goroutine that makes the call could not read
// the answer itself, and each answer would pass through other goroutines (see longestCall).
func TestCallsHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store, l := start(t, batch.Config{InFlight: 1})
		defer store.Close()
		for range 2 {
			go func() {
				if _, err := l.PolicyOf("", five).Allow(context.Background(), "k"); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		close(g.open)
		synctest.Wait()
		if got := g.deadlines[1]; got != time.Minute {
			t.Errorf("the second call has a deadline in %v, want a minute", got)
		}
	})
}
