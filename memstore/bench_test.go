package memstore_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/memstore"
)

func BenchmarkAllow(b *testing.B) {
	for _, n := range []int{1, 10_000, 1 << 20} {
		b.Run("keys="+strconv.Itoa(n), func(b *testing.B) {
			store, err := memstore.New(memstore.Config{MaxKeys: 1 << 21})
			if err != nil {
				b.Fatal(err)
			}
			limiter := headgate.New(store)
			limit := headgate.Must(headgate.TokenBucket(headgate.PerMinute(100)))
			keys := make([]string, n)
			for i := range keys {
				keys[i] = "user:" + strconv.Itoa(1_000_000_000+i)
			}
			ctx := context.Background()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(1, rand.Uint64()))
				for pb.Next() {
					if _, err := limiter.Allow(ctx, keys[r.IntN(n)], limit); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
