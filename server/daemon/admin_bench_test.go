package daemon_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/topkeys"
)

type both struct {
	metrics *metrics.Metrics
	top     *topkeys.Tracker
}

func (b both) Observe(o *service.Observed) {
	b.metrics.Observe(o)
	b.top.Observe(o)
}

// BenchmarkObserved decides calls of 64 requests and of 1 request in memory, with and without counting for the admin
// listener.
func BenchmarkObserved(b *testing.B) {
	config, err := policy.Parse("p.yaml", []byte("policies: {api: 1000000/s}"))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{64, 1} {
		requests := make([]decide.Request, n)
		for i := range requests {
			requests[i] = decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api", Key: fmt.Sprintf("key-%d", i)}}
		}
		for _, observed := range []bool{false, true} {
			b.Run(fmt.Sprintf("requests=%d/observed=%t", n, observed), func(b *testing.B) {
				store, err := memstore.New(memstore.Config{})
				if err != nil {
					b.Fatal(err)
				}
				c := service.Config{Limiter: core.New(core.Config{Store: store}), Policies: config.Policies}
				if observed {
					w := both{metrics.New("v1"), topkeys.New()}
					w.metrics.SetPolicies(config.Policies)
					c.Observer = w
				}
				s, responses := service.New(c), make([]decide.Response, n)
				for end := time.Now().Add(time.Second / 4); time.Now().Before(end); { // until sampling has started
					s.Do(context.Background(), service.RESP, requests, responses)
				}
				began := cpu(b)
				for b.Loop() {
					s.Do(context.Background(), service.RESP, requests, responses)
				}
				b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(b.N*n), "cpu-ns/request")
			})
		}
	}
}

// cpu returns the CPU time of this process, which other processes hardly influence.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
