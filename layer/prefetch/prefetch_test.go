package prefetch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
)

// shared is a store that several processes share, with a small latency.
type shared struct {
	*memstore.Store

	mu    sync.Mutex
	calls int
	down  bool
}

func (s *shared) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.mu.Lock()
	s.calls++
	down := s.down
	s.mu.Unlock()
	time.Sleep(300 * time.Microsecond)
	if down {
		for i := range results {
			results[i].Err = headgate.ErrStoreUnavailable
		}
		return
	}
	s.Store.Do(ctx, ops, results)
	time.Sleep(300 * time.Microsecond)
}

func (s *shared) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Close does nothing: other processes still use the store.
func (s *shared) Close() error { return nil }

func share(t *testing.T) *shared {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return &shared{Store: memory}
}

// join returns a member of the processes that share a store.
func join(t *testing.T, coordinator engine.Coordinator) *membership.Member {
	t.Helper()
	m, err := membership.New(coordinator, membership.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func process(t *testing.T, s *shared, c prefetch.Config) (*prefetch.Store, *headgate.Limiter) {
	t.Helper()
	store, err := prefetch.New(s, join(t, s), c)
	if err != nil {
		t.Fatal(err)
	}
	return store, headgate.New(headgate.WithStore(store))
}

// settled is the time after the start until all processes count each other.
const settled = 5 * time.Second

var (
	bucket = rule.TokenBucket(rule.PerSecond(1000))
	fixed  = rule.FixedWindow(rule.PerSecond(1000))
	window = rule.SlidingWindow(rule.PerSecond(1000), rule.Segments(5))
	slog   = rule.SlidingLog(rule.PerSecond(1000))
	strict = rule.SlidingWindow(rule.PerSecond(1000), rule.Segments(5), rule.Strict(), rule.Named("strict"))
)

// passes lists the times when requests passed, in ms since the start.
type passes struct {
	mu sync.Mutex
	at []time.Duration
}

func (p *passes) add(at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, at)
}

// most returns the maximum number of requests that passed in any span of the given length.
func (p *passes) most(span time.Duration) (most int) {
	for i, from := 0, 0; i < len(p.at); i++ {
		for p.at[i]-p.at[from] >= span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// Processes with different request rates send more requests for one hot key than its limit allows. No more requests
// pass than stated, nearly all of the limit is used, and few requests reach the store.
func TestOvershootStaysWithinTheStatedBound(t *testing.T) {
	const life, lasts = 100 * time.Millisecond, 5 * time.Second
	for _, limit := range []engine.Limit{bucket, fixed, window, strict, slog} {
		synctest.Test(t, func(t *testing.T) {
			s := share(t)
			var all passes
			var wg sync.WaitGroup
			started := time.Now().Add(settled)
			for _, perSecond := range []int{3000, 1000, 300, 50} {
				store, l := process(t, s, prefetch.Config{Limits: []engine.Limit{limit}, Life: life, MaxUnits: 1000})
				wg.Go(func() {
					time.Sleep(time.Until(started))
					for time.Since(started) < lasts {
						time.Sleep(time.Duration(rand.Int64N(2 * int64(time.Second) / int64(perSecond))))
						at := time.Since(started)
						d, err := l.PolicyOf("", limit).Allow(context.Background(), "hot")
						if err != nil {
							t.Error(err)
						} else if d.Allowed {
							all.add(at)
						}
						if said := d.Promise.OvershootMax; said < 0 || said > 100 || limit != bucket && said != 0 {
							t.Errorf("stated %d units at most", said)
						}
					}
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			capacity := 1000 * int(lasts/time.Second)
			if limit == bucket {
				// In any span, the processes may spend the burst and the refill of one additional Config.Life.
				capacity += 1000
				if most := all.most(time.Second); most > 2000+100 {
					t.Errorf("%v: %d passed within a second, want 2100 at most", limit, most)
				}
			}
			if n := len(all.at); n > capacity+100 || n < capacity*90/100 {
				t.Errorf("%v: %d passed of %d", limit, n, capacity)
			}
			if limit == slog {
				// The recorded time of some requests is earlier than their decision.
				if most := all.most(time.Second); most > 1000+5 {
					t.Errorf("%v: %d passed within a second", limit, most)
				}
			}
			if limit == strict {
				if most := all.most(time.Second); most > 1000 {
					t.Errorf("%v: %d passed within a second", limit, most)
				}
			}
			t.Logf("%v: %d of %d passed, %d store calls", limit, len(all.at), capacity, s.asked())
		})
	}
}

// Unspent units are returned at half their life and when the store is closed. Units of a process that has died stay
// spent.
func TestUnspentUnitsGoBack(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(1000))
	peek := func(s *shared) int64 {
		op := engine.Single(engine.OpPeek, "k", limit, 1)
		op.Space = engine.DefaultSpace
		results := make([]engine.Answer, 1)
		s.Store.Do(context.Background(), []engine.Op{op}, results)
		return results[0].Binds().Remaining
	}
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		c := prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 100, HotAfter: 1}
		store, l := process(t, s, c)
		time.Sleep(settled)
		warm := func() {
			for range 3 {
				if _, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err != nil {
					t.Fatal(err)
				}
			}
		}
		warm() // one unit, then one unit and 100 prefetched ones, then one of the prefetched units
		if left := peek(s); left != 1000-2-100 {
			t.Errorf("%d left while 99 units are held, want 898", left)
		}
		time.Sleep(400 * time.Millisecond)
		if left := peek(s); left != 898 {
			t.Errorf("%d left before half of the life", left)
		}
		time.Sleep(400 * time.Millisecond)
		if left := peek(s); left != 997 {
			t.Errorf("%d left after half of the life, want 997", left)
		}
		if got := store.Stats(); got.Spent != 1 || got.Returned != 99 || got.Members != 1 || got.Lost != 0 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Second)
		warm()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if left := peek(s); left != 994 {
			t.Errorf("%d left after it was closed, want 994", left)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		store, l := process(t, s, prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 100, HotAfter: 1})
		time.Sleep(settled)
		for range 3 {
			_, _ = l.PolicyOf("", limit).Allow(context.Background(), "k")
		}
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		// Held units are spent while the store does not answer, until they expire.
		d, err := l.PolicyOf("", limit).Allow(context.Background(), "k")
		if err != nil || !d.Allowed || d.Promise.Mode != engine.Leased {
			t.Errorf("while the store does not answer: %+v, %v", d, err)
		}
		time.Sleep(2 * time.Second)
		if _, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err == nil {
			t.Error("a unit was spent after its life")
		}
		if got := store.Stats(); got.Lost != 98 {
			t.Errorf("%+v, want 98 lost", got)
		}
		_ = store.Close()
	})
}

// If a key has too few units for a share, the share is zero and every request goes to the store. When a key is reset,
// its prefetched units are dropped.
func TestFewUnitsAreNotPrefetched(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(20))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		store, l := process(t, s, prefetch.Config{Limits: []engine.Limit{limit}, Life: 10 * time.Second, MaxUnits: 1000, HotAfter: 1})
		defer store.Close()
		time.Sleep(10 * settled)
		passed := 0
		for range 40 {
			d, err := l.PolicyOf("", limit).Allow(context.Background(), "k")
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed {
				passed++
			}
		}
		if passed != 20 {
			t.Errorf("%d of 20 passed", passed)
		}
		if _, err := l.PolicyOf("", limit).Reset(context.Background(), "k"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, _ = l.PolicyOf("", limit).Allow(context.Background(), "k") // one unit, then one unit and 9 prefetched ones, then one of the prefetched units
		}
		if _, err := l.PolicyOf("", limit).Reset(context.Background(), "k"); err != nil {
			t.Fatal(err)
		}
		if d, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err != nil || d.Promise.Mode != engine.Exact || d.Remaining != 19 {
			t.Errorf("after a reset: %+v, %v", d, err)
		}
	})
}

// No units are prefetched before the process can rely on being counted, after it has lost contact with the group, or
// for a limit that Config does not name.
func TestNothingIsPrefetchedWithoutAKnownNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		c := prefetch.Config{Limits: []engine.Limit{bucket}, Life: 100 * time.Millisecond, MaxUnits: 1000, HotAfter: 1}
		store, l := process(t, s, c)
		defer store.Close()
		ask := func(limit engine.Limit) {
			t.Helper()
			for range 5 {
				if d, err := l.PolicyOf("", limit).Allow(context.Background(), "k"); err != nil || d.Promise != (engine.Promise{}) && store.Stats().Members == 0 {
					t.Errorf("%+v, %v", d, err)
				}
			}
		}
		ask(bucket)
		time.Sleep(2 * time.Second)
		ask(bucket)
		if got := store.Stats(); got.Spent != 0 {
			t.Errorf("too early: %+v", got)
		}
		time.Sleep(time.Second)
		ask(fixed)
		if got := store.Stats(); got.Spent != 0 || got.Members != 1 {
			t.Errorf("not named: %+v", got)
		}
		ask(bucket)
		spent := store.Stats().Spent
		if spent == 0 {
			t.Error("nothing was prefetched")
		}
		_ = s.Store.Close() // this closes the coordinator too
		time.Sleep(3 * time.Second)
		if got := store.Stats(); got.Members != 0 {
			t.Errorf("without a coordinator: %+v", got)
		}
	})
}

// Operations of one call are answered from held units if possible, and the remaining operations go to the store in
// one call. Several units are spent if that many are held. Other namespaces are not prefetched.
func TestBatchSpendsHeldUnits(t *testing.T) {
	limit := rule.FixedWindow(rule.PerHour(1000))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		c := prefetch.Config{Spaces: map[string][]engine.Limit{"ours": {limit}}, Life: 10 * time.Second, MaxUnits: 10, HotAfter: 2}
		store, _ := process(t, s, c)
		defer store.Close()
		time.Sleep(10 * settled)
		refused := errors.New("refused before")
		call := func(key, space string, costs ...int64) (modes string) {
			t.Helper()
			before := s.asked()
			ops, results := make([]engine.Op, len(costs)), make([]engine.Answer, len(costs))
			for i := range ops {
				ops[i] = engine.Single(engine.OpAllow, key, limit, costs[i])
				ops[i].Space = space
			}
			results[len(results)-1].Err = refused
			results[0].Allowed = true // results are reused and may contain an earlier answer
			store.Do(context.Background(), ops, results)
			if results[len(results)-1].Err != refused || s.asked() > before+1 {
				t.Errorf("%v, %d calls", results[len(results)-1], s.asked()-before)
			}
			for i, r := range results[:len(results)-1] {
				if r.Err != nil || !r.Allowed || r.Granted != costs[i] {
					t.Errorf("%+v", r)
				}
				modes += r.Promise.Mode.String()[:1]
			}
			return modes
		}
		for _, step := range []struct {
			key, space string
			costs      []int64
			want       string
		}{
			{"k", "others", []int64{1, 1, 1, 1, 1, 1, 0}, "eeeeee"},
			{"k", "others", []int64{1, 1, 0}, "ee"},
			{"k", "ours", []int64{1, 1, 1, 1, 1, 0}, "eeeee"}, // the third also prefetches ten
			{"k", "ours", []int64{1, 3, 7, 1, 1, 0}, "llell"}, // six are held when seven are requested
			{"k", "ours", []int64{5, 4, 0}, "el"},
			{"several", "ours", []int64{2, 2, 2, 2, 2, 0}, "eeeee"},
			{"several", "ours", []int64{2, 2, 2, 2, 2, 0}, "eeeee"},
		} {
			if got := call(step.key, step.space, step.costs...); got != step.want {
				t.Errorf("%s %v: modes %s, want %s", step.space, step.costs, got, step.want)
			}
		}
		if got := store.Stats(); got.Spent != 1+3+1+1+4 {
			t.Errorf("%+v, want 10 spent", got)
		}
	})
}

// Prefetched units of a log count from the end of their life, which is the latest time when they can be spent.
func TestLogCountsPrefetchedUnitsFromTheirEnd(t *testing.T) {
	limit := rule.SlidingLog(rule.PerSecond(100))
	synctest.Test(t, func(t *testing.T) {
		s := share(t)
		store, l := process(t, s, prefetch.Config{Limits: []engine.Limit{limit}, Life: time.Second, MaxUnits: 100, HotAfter: 1})
		defer store.Close()
		time.Sleep(settled)
		var all passes
		start := time.Now()
		ask := func(times int) {
			for range times {
				d, err := l.PolicyOf("", limit).Allow(context.Background(), "k")
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					all.add(time.Since(start))
				}
			}
		}
		ask(3) // one unit, then one unit and some prefetched ones, then one of the prefetched units
		time.Sleep(400 * time.Millisecond)
		ask(40)
		if got := store.Stats(); got.Spent != 41 {
			t.Errorf("%+v, want 41 spent", got)
		}
		time.Sleep(time.Second - time.Since(start) + 50*time.Millisecond)
		ask(200)
		if most := all.most(time.Second); most > 100 || len(all.at) < 90 {
			t.Errorf("%d passed within a second, %d in all", most, len(all.at))
		}
	})
}

// Settings out of range cause errors.
func TestConfigIsChecked(t *testing.T) {
	good := func() prefetch.Config {
		return prefetch.Config{Limits: []engine.Limit{bucket}, Life: time.Second, MaxUnits: 10}
	}
	for field, spoil := range map[string]func(*prefetch.Config){
		"life": func(c *prefetch.Config) { c.Life = 0 }, "max_units": func(c *prefetch.Config) { c.MaxUnits = 0 },
		"hot_after": func(c *prefetch.Config) { c.HotAfter = -1 }, "max_keys": func(c *prefetch.Config) { c.MaxKeys = 1 },
		"limits": func(c *prefetch.Config) { c.Limits = nil },
	} {
		c := good()
		spoil(&c)
		var bad *engine.InputError
		if _, err := prefetch.New(nil, nil, c); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%+v: %v, want an InputError about %s", c, err, field)
		}
	}
	for _, limit := range []engine.Limit{
		rule.Pacer(rule.PerSecond(1), rule.MaxQueue(1)), rule.SlidingLog(rule.PerSecond(1), rule.CountDenied()),
		rule.Concurrency(1), rule.TokenBucket(rule.PerSecond(1), rule.AllowDebt(1)),
		rule.FixedWindow(rule.PerSecond(1), rule.CountDenied()), engine.DenyAll(),
		{},
	} {
		c := good()
		c.Limits = append(c.Limits, limit)
		if _, err := prefetch.New(nil, nil, c); !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%v: %v, want an InputError", limit, err)
		}
	}
}
