package lua

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// benchLimits returns the limits to measure. About half of the calls pass.
func benchLimits() map[string]engine.Limit {
	return map[string]engine.Limit{
		"token bucket":             rule.TokenBucket(rule.PerSecond(10)),
		"token bucket, two words":  rule.TokenBucket(rule.PerDay(1_234_567)),
		"pacer":                    rule.Pacer(rule.PerSecond(10), rule.MaxQueue(10)),
		"fixed window":             rule.FixedWindow(rule.PerSecond(10)),
		"sliding window, weighted": rule.SlidingWindow(rule.PerSecond(10), rule.Weighted()),
		"sliding window, strict":   rule.SlidingWindow(rule.PerSecond(10), rule.Strict()),
		"sliding log":              rule.SlidingLog(rule.PerSecond(10)),
		"concurrency":              rule.Concurrency(10, rule.LeaseTime(100*time.Millisecond)),
	}
}

// getSet does the minimum work that any limiter script has to do.
const getSet = `local t = redis.call('TIME') local v = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', '10000') return v`

// benchKeys is the number of keys, each of 20 bytes.
const benchKeys = 10_000

// BenchmarkRedis measures how many operations per second one core of the server decides. It measures CPU time as
// reported by the server, so that other load on the machine does not matter. `make bench-redis` runs it.
func BenchmarkRedis(b *testing.B) {
	s := redistest.Standalone(b, redistest.Redis)
	keys := make([]string, benchKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%015d", i)
	}
	for _, flavor := range []struct{ name, command string }{{"INCR", "incr"}, {"GET and SET in Lua", "eval"}} {
		b.Run(flavor.name, func(b *testing.B) {
			client := testbed.At(s.Addr(), "").Goredis()
			defer client.Close()
			ctx := context.Background()
			sha := client.ScriptLoad(ctx, getSet).Val()
			perCore(b, s, func(n int) {
				pipe := client.Pipeline()
				for range n {
					if flavor.command == "incr" {
						pipe.Incr(ctx, "incr"+keys[rand.IntN(benchKeys)])
					} else {
						pipe.EvalSha(ctx, sha, []string{"getset" + keys[rand.IntN(benchKeys)]}, "0123456789012345678901234567890123")
					}
				}
				_, _ = pipe.Exec(ctx)
			})
		})
	}
	store := testbed.OpenRueidis(b, testbed.At(s.Addr(), ""), redisstore.Config{})
	for name, limit := range benchLimits() {
		for _, batch := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s, %d a call", name, batch), func(b *testing.B) {
				perCore(b, s, func(n int) { ask64(b, store, limit, keys, n, batch) })
			})
		}
	}
}

// ask64 requests n decisions from 64 goroutines, with a fixed number of operations per call.
func ask64(b *testing.B, store engine.Store, limit engine.Limit, keys []string, n, batch int) {
	b.Helper()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for done := 0; done < n/64; done += batch {
				ops, results := make([]engine.Op, batch), make([]engine.Answer, batch)
				for i := range ops {
					ops[i] = engine.Op{Space: "bench", Key: keys[rand.IntN(benchKeys)], Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
					if limit.Algorithm().String() == "concurrency" {
						ops[i].Kind, ops[i].ID = engine.OpAcquire, strconv.FormatUint(rand.Uint64(), 36)
					}
				}
				store.Do(context.Background(), ops, results)
				if results[0].Err != nil {
					b.Error(results[0].Err)
				}
			}
		})
	}
	wg.Wait()
}

// perCore reports the number of operations per second of the server's CPU time.
func perCore(b *testing.B, s *redistest.Server, run func(n int)) {
	b.Helper()
	const chunk = 12_800
	before, done := cpuSeconds(b, s), 0
	for b.Loop() {
		run(chunk)
		done += chunk
	}
	b.ReportMetric(float64(done)/(cpuSeconds(b, s)-before), "ops/core-s")
	b.ReportMetric(0, "ns/op")
}

func cpuSeconds(b *testing.B, s *redistest.Server) (sum float64) {
	b.Helper()
	for line := range strings.Lines(s.Text("info", "cpu")) {
		for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
				seconds, err := strconv.ParseFloat(value, 64)
				if err != nil {
					b.Fatal(err)
				}
				sum += seconds
			}
		}
	}
	return sum
}

// BenchmarkRedisBytes measures how much memory the server needs for a key of 20 bytes, including its name, state and
// TTL, after units were charged at different times.
func BenchmarkRedisBytes(b *testing.B) {
	s := redistest.Standalone(b, redistest.Redis)
	store := testbed.OpenRueidis(b, testbed.At(s.Addr(), ""), redisstore.Config{})
	for name, limit := range map[string]engine.Limit{
		"token bucket":             rule.TokenBucket(rule.PerHour(100)),
		"fixed window":             rule.FixedWindow(rule.PerHour(100)),
		"sliding window, weighted": rule.SlidingWindow(rule.PerHour(100), rule.Weighted()),
		"sliding window, strict":   rule.SlidingWindow(rule.PerHour(100), rule.Strict()),
		"sliding log":              rule.SlidingLog(rule.PerHour(100)),
		"concurrency":              rule.Concurrency(100, rule.LeaseTime(time.Hour)),
	} {
		for _, units := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s, %d units", name, units), func(b *testing.B) {
				const keys = 20_000
				fill(store, limit, keys, units) // allocate the clients' buffers before the measurement
				s.MustDo("flushall")
				before := memory(b, s)
				fill(store, limit, keys, units)
				b.ReportMetric(float64(memory(b, s)-before)/keys, "B/key")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// fill charges each key the given number of units, each unit at a different time.
func fill(store engine.Store, limit engine.Limit, keys, units int) {
	for unit := range units {
		for from := 0; from < keys; from += 1000 {
			ops, results := make([]engine.Op, 1000), make([]engine.Answer, 1000)
			for i := range ops {
				ops[i] = engine.Op{Space: "bench", Key: fmt.Sprintf("user:%015d", from+i), Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
				if limit.Algorithm().String() == "concurrency" {
					ops[i].Kind, ops[i].ID = engine.OpAcquire, fmt.Sprintf("holder-%09d", unit)
				}
			}
			store.Do(context.Background(), ops, results)
		}
	}
}

// memory returns the number of bytes that a server uses.
func memory(b *testing.B, s *redistest.Server) int64 {
	b.Helper()
	for line := range strings.Lines(s.Text("info", "memory")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	return 0
}
