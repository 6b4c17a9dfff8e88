package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// touched prevents the compiler from removing the reads of keys.
var touched atomic.Int64

// BenchmarkAllow measures decisions on keys with a stored state by the fast path, Words.Allow.
func BenchmarkAllow(b *testing.B) { decideAll(b, rule.TokenBucket(rule.PerHour(1000))) }

// BenchmarkSteps measures decisions by the steps of package algo, for an algorithm without a fast path.
func BenchmarkSteps(b *testing.B) {
	decideAll(b, rule.TokenBucket(rule.PerHour(1000), rule.AllowDebt(100)))
}

// BenchmarkBoxes measures decisions by the steps of package algo on states of more than two words, which are allocated
// separately.
func BenchmarkBoxes(b *testing.B) {
	b.Run("sliding-window", func(b *testing.B) { decideAll(b, rule.SlidingWindow(rule.PerHour(1000))) })
	b.Run("fair-share", func(b *testing.B) { decideAll(b, rule.FairShare(rule.PerHour(1_000_000), rule.Burst(1_000_000))) })
}

// BenchmarkFullAgain measures decisions on 100 000 keys that are full again at each request.
func BenchmarkFullAgain(b *testing.B) {
	decideAll(b, rule.TokenBucket(rule.PerSecond(1000), rule.Burst(10)))
}

// BenchmarkNewKeys measures decisions on keys without a stored state, as in a flood of invented keys.
func BenchmarkNewKeys(b *testing.B) {
	const n = 1 << 20
	limit, keys := rule.TokenBucket(rule.PerHour(1000)), make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%015d", i)
	}
	ctx := context.Background()
	var p *headgate.Policy
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%n == 0 {
			b.StopTimer()
			store, err := memstore.New(memstore.Config{MaxKeys: n})
			if err != nil {
				b.Fatal(err)
			}
			p = headgate.New(headgate.WithStore(store)).PolicyOf("", limit)
			b.StartTimer()
		}
		if _, err := p.Allow(ctx, keys[i%n]); err != nil {
			b.Fatal(err)
		}
	}
}

func decideAll(b *testing.B, limit engine.Limit) {
	b.Helper()
	for _, n := range []int{1, 10_000, 100_000, 1 << 20} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			store, err := memstore.New(memstore.Config{MaxKeys: 1 << 21})
			if err != nil {
				b.Fatal(err)
			}
			ctx, p := context.Background(), headgate.New(headgate.WithStore(store)).PolicyOf("", limit)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprintf("user:%015d", i)
				if _, err := p.Allow(ctx, keys[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(1, rand.Uint64()))
				var next [16]string
				bytes := 0
				defer func() { touched.Add(int64(bytes)) }()
				for i := 0; pb.Next(); i++ {
					// Touch the next keys first, because a real caller has just read its key.
					if i%len(next) == 0 {
						for j := range next {
							next[j] = keys[r.IntN(n)]
							bytes += int(next[j][0])
						}
					}
					if _, err := p.Allow(ctx, next[i%len(next)]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
