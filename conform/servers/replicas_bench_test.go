package servers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/redisstore"
)

// BenchmarkReplicas measures the cost of waiting for replicas: decisions per second and median latency for the same
// callers, which wait for zero, one and two replicas in turn.
func BenchmarkReplicas(b *testing.B) {
	primary := redistest.Standalone(b, redistest.Redis)
	for range 2 {
		redistest.ReplicaOf(b, primary)
	}
	store, err := batch.New(testbed.OpenRueidis(b, testbed.OfServer(primary), redisstore.Config{}), batch.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	limit := rule.TokenBucket(rule.PerHour(1_000_000_000))
	for _, callers := range []int{1, 64} {
		for turn := range 3 {
			for replicas := range 3 {
				b.Run(fmt.Sprintf("callers=%d/replicas=%d/turn=%d", callers, replicas, turn), func(b *testing.B) {
					limiter := headgate.New(headgate.WithStore(store))
					if replicas > 0 {
						limiter = headgate.New(headgate.WithStore(store), headgate.WithReplicas(replicas, time.Second))
					}
					policy := operate.Policy(limiter, "", limit)
					took := make([]time.Duration, b.N)
					var works sync.WaitGroup
					b.ResetTimer()
					for c := range callers {
						works.Go(func() {
							ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
							defer cancel()
							for i := c; i < b.N; i += callers {
								began := time.Now()
								if _, err := policy.Allow(ctx, "k"+strconv.Itoa(i%1000)); err != nil {
									b.Error(err)
								}
								took[i] = time.Since(began)
							}
						})
					}
					works.Wait()
					b.StopTimer()
					slices.Sort(took)
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
					b.ReportMetric(float64(took[b.N/2].Microseconds()), "p50-µs")
					b.ReportMetric(float64(took[b.N*99/100].Microseconds()), "p99-µs")
				})
			}
		}
	}
}
