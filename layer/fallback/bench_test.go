package fallback_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/fallback"
)

// BenchmarkDo measures the overhead of the layer for a call of 100 operations on a store in memory.
func BenchmarkDo(b *testing.B) {
	limit := rule.TokenBucket(rule.PerHour(1_000_000_000))
	ops, results := make([]engine.Op, 100), make([]engine.Answer, 100)
	for i := range ops {
		ops[i] = engine.Single(engine.OpAllow, "key of twenty bytes "+strconv.Itoa(i), limit, 1)
		ops[i].Space = "policy:api"
	}
	for _, with := range []bool{false, true} {
		b.Run("with="+strconv.FormatBool(with), func(b *testing.B) {
			s := &server{}
			s.lose(b)
			store := engine.Store(s)
			if with {
				front, err := fallback.New(s, join(b, s, nil), fallback.Config{})
				if err != nil {
					b.Fatal(err)
				}
				defer front.Close()
				store = front
				time.Sleep(time.Millisecond)
			}
			b.ReportAllocs()
			for b.Loop() {
				store.Do(b.Context(), ops, results)
			}
		})
	}
}
