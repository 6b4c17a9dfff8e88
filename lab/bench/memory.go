package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// quota is a limit in memory: units in a time, all at once.
type quota struct {
	units int64
	per   time.Duration
}

var (
	// daily keeps states: a unit takes 86 s to refill, so that a key's state still exists after ten million keys have been
	// created and the other contenders have had their turns.
	daily = quota{1000, 24 * time.Hour}
	// fullAgain is the limit of keys that are full again at each request, as most users are.
	fullAgain = quota{1000, time.Second}
)

// limit is the quota for Headgate.
func (q quota) limit() engine.Limit { return rule.TokenBucket(rule.Per(q.units, q.per)) }

// rate is the quota for x/time/rate.
func (q quota) rate() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(q.units)/q.per.Seconds()), int(q.units))
}

// zipfs is added to the titles of rows whose keys have a Zipf distribution.
const zipfs = ", Zipf-distributed"

// names returns n different keys of 20 bytes each.
func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%015d", i)
	}
	return keys
}

// memory compares in-process limiters. Two goroutines send requests, and every key already has a state.
func memory(ctx context.Context, s settings) (tables []table, err error) {
	for _, row := range []struct {
		keys  int
		quota quota
		reach float64
	}{{1, daily, 0.45}, {10_000, daily, 0.7}, {100_000, fullAgain, 0.9}, {1 << 20, daily, 0.5}} {
		keys := names(row.keys)
		contenders, weights, err := inMemory(keys, row.quota)
		if err != nil {
			return nil, err
		}
		title := fmt.Sprintf("In memory, %d keys", len(keys))
		if row.quota == fullAgain {
			title += " that are full again"
		}
		rows, err := memoryRows(contenders, keys, title, row.reach, s)
		if err != nil {
			return nil, err
		}
		tables = append(tables, rows...)
		if row.keys > 1<<19 {
			tables = append(tables, table{title: "In memory, bytes a key of 20 bytes, all included", unit: "bytes", lower: true, reach: 0.5, lines: weights})
		}
		finish(contenders)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if s.full {
		many, err := manyKeys(s)
		return append(tables, many), err
	}
	return tables, nil
}

// memoryRows requests the keys with a uniform distribution and, if there are several, also with a Zipf distribution.
func memoryRows(contenders []contender, keys []string, title string, reach float64, s settings) (tables []table, err error) {
	for _, zipf := range []bool{false, true} {
		if zipf && len(keys) == 1 {
			break
		}
		t := table{
			title: title, unit: "ns a decision", lower: true, reach: reach, beside: rivals(contenders), costs: true,
			note: "A bare table decides nothing: hash, clock, lock, one slot read and written. A limiter without keys has no table.",
		}
		if zipf {
			t.title, t.reach = t.title+zipfs, 0
		}
		samples, err := interleave(contenders, load{row: t.title, callers: 2, keys: keys, zipf: zipf}, s)
		if err != nil {
			return nil, err
		}
		lines := compare(contenders, samples, nanoseconds)
		together := slices.IndexFunc(lines, func(l line) bool { return l.name == hundredKeys })
		t.lines = slices.Delete(slices.Clone(lines), together, together+1)
		tables = append(tables, t)
		if len(keys) > 1<<19 && !zipf {
			one := lines[0]
			one.name, one.ours = "one key a call", false
			tables = append(tables, table{title: t.title + ", 100 keys a call", unit: "ns a key", lower: true, lines: []line{lines[together], one}})
		}
	}
	return tables, nil
}

// inMemory creates the limiters, each in its best configuration for this number of keys, and requests each key once. It
// also returns the memory that each limiter uses.
func inMemory(keys []string, q quota) (contenders []contender, weights []line, err error) {
	for _, make := range []func(keys int, q quota) (contender, error){own, xTime, goLimiter, throttledGCRA, ulule, together, bareTable, noKeys} {
		before := heap()
		c, err := make(len(keys), q)
		if err != nil {
			return nil, nil, err
		}
		for _, key := range keys {
			// As in a real program, each key is a separate allocation, so a limiter that stores the key retains that
			// memory.
			if err := c.ask(strings.Clone(key)); err != nil {
				return nil, nil, err
			}
		}
		contenders = append(contenders, c)
		if c.name == hundredKeys || c.name == keyless || c.name == bareName {
			continue
		}
		weights = append(weights, line{name: c.name, ours: c.ours, value: float64(heap()-before) / float64(len(keys))})
	}
	return contenders, weights, nil
}

// rivals returns the names of all contenders except Headgate's and those without per-key limits.
func rivals(contenders []contender) (names []string) {
	for _, c := range contenders {
		if !c.ours && c.name != bareName && c.name != keyless {
			names = append(names, c.name)
		}
	}
	return names
}

// heap collects twice, because what a sync.Pool or a finalizer holds outlives one collection: the former row's limiters
// would be in the first of two measurements.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// manyKeys compares Headgate with many keys and Headgate with few keys. It compares a bare table in the same way.
func manyKeys(s settings) (table, error) {
	t := table{title: "In memory, ten million keys", unit: "ns a decision", lower: true, reach: 4, beside: []string{"headgate, 100000 keys"}}
	for _, make := range []func(keys int, q quota) (contender, error){own, bareTable} {
		for _, n := range []int{10_000_000, 100_000} {
			lines, err := evenly(make, n, s)
			if err != nil {
				return t, err
			}
			t.lines = append(t.lines, lines...)
		}
	}
	return t, nil
}

// evenly measures one limiter with evenly distributed requests for n keys.
func evenly(make func(keys int, q quota) (contender, error), n int, s settings) ([]line, error) {
	keys := names(n)
	c, err := make(n, daily)
	if err != nil {
		return nil, err
	}
	defer finish([]contender{c})
	for _, key := range keys {
		if err := c.ask(key); err != nil {
			return nil, err
		}
	}
	c.ours, c.name = c.ours && n > 1<<20, fmt.Sprintf("%s, %d keys", c.name, n)
	samples, err := interleave([]contender{c}, load{row: "memory", callers: 2, keys: keys}, s)
	return compare([]contender{c}, samples, nanoseconds), err
}

// These are the names of contenders that are compared separately.
const (
	hundredKeys = "headgate, 100 keys a call"
	keyless     = "x/time/rate, one limiter without keys"
	bareName    = "a bare table"
)

// inStore creates a limiter with a store for at least the given number of keys.
func inStore(keys int) (*headgate.Limiter, error) {
	store, err := memstore.New(memstore.Config{MaxKeys: max(keys, memstore.DefaultMaxKeys)})
	if err != nil {
		return nil, err
	}
	return headgate.New(headgate.WithStore(store)), nil
}

// own is Headgate with a policy, whose limit is looked up only once.
func own(keys int, q quota) (contender, error) {
	limiter, err := inStore(keys)
	if err != nil {
		return contender{}, err
	}
	policy, ctx := limiter.PolicyOf("bench", q.limit()), context.Background()
	return contender{name: "headgate", ours: true, ask: func(key string) error {
		_, err := policy.Allow(ctx, key)
		return err
	}}, nil
}

// together is Headgate with a hundred keys per call.
func together(keys int, q quota) (contender, error) {
	limiter, err := inStore(keys)
	if err != nil {
		return contender{}, err
	}
	type call struct {
		ops     []engine.Op
		results []engine.Answer
	}
	limit, ctx, calls := q.limit(), context.Background(), sync.Pool{New: func() any { return new(call) }}
	askMany := func(keys []string) error {
		c := calls.Get().(*call)
		defer calls.Put(c)
		for len(c.ops) < len(keys) {
			c.ops = append(c.ops, engine.Single(engine.OpAllow, "", limit, 1))
		}
		for i, key := range keys {
			c.ops[i].Key = key
		}
		c.results = slices.Grow(c.results[:0], len(keys))[:len(keys)]
		limiter.Core().Do(ctx, c.ops[:len(keys)], c.results)
		for i := range c.results {
			if err := c.results[i].Err; err != nil {
				return err
			}
		}
		return nil
	}
	return contender{name: hundredKeys, ours: true, askMany: askMany, ask: func(key string) error { return askMany([]string{key}) }}, nil
}

// noKeys is a single limiter for all callers. It shows the cost of a decision without a table of keys.
func noKeys(_ int, q quota) (contender, error) {
	l := q.rate()
	return contender{name: keyless, ask: func(string) error {
		l.Allow()
		return nil
	}}, nil
}

func xTime(_ int, q quota) (contender, error) {
	var limiters sync.Map
	return contender{name: "x/time/rate in a sync.Map", ask: func(key string) error {
		l, ok := limiters.Load(key)
		if !ok {
			l, _ = limiters.LoadOrStore(key, q.rate())
		}
		l.(*rate.Limiter).Allow()
		return nil
	}}, nil
}

func goLimiter(_ int, q quota) (contender, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(q.units), Interval: q.per})
	ctx := context.Background()
	return contender{name: "sethvargo/go-limiter", ask: func(key string) error {
		_, _, _, _, err := store.Take(ctx, key)
		return err
	}, done: func() { _ = store.Close(ctx) }}, err
}

func throttledGCRA(_ int, q quota) (contender, error) {
	limiter, err := throttledGCRAOf(throttled.PerDuration(int(q.units), q.per), int(q.units)-1)
	ctx := context.Background()
	return contender{name: "throttled GCRA", ask: func(key string) error {
		_, _, err := limiter.RateLimitCtx(ctx, key, 1)
		return err
	}}, err
}

func ulule(_ int, q quota) (contender, error) {
	l := limiter.New(ululestore.NewStore(), limiter.Rate{Period: q.per, Limit: q.units})
	ctx := context.Background()
	return contender{name: "ulule/limiter", ask: func(key string) error {
		_, err := l.Get(ctx, key)
		return err
	}}, nil
}
