package tracing_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/tracing"
	"github.com/headgate/headgate/server/internal/tracing/tracetest"
)

// BenchmarkObserve measures the cost per request in a pipeline of 64, with spans for no requests, for one in a
// hundred, and for all.
func BenchmarkObserve(b *testing.B) {
	for _, ratio := range []float64{0, 0.01, 1} {
		b.Run(fmt.Sprint("ratio=", ratio), func(b *testing.B) {
			tracer, err := tracing.New(b.Context(), tracing.Config{Endpoint: tracetest.New(b).GRPC, Ratio: ratio, Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tracer.Close(b.Context()) }()
			o := &service.Observed{Context: b.Context(), FrontEnd: service.RESP, Began: time.Now(), Ended: time.Now()}
			for range 64 {
				o.Requests = append(o.Requests, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Key: "k"}})
				o.Responses = append(o.Responses, decide.Response{Answer: engine.Answer{Allowed: true}})
			}
			b.ReportAllocs()
			for b.Loop() {
				tracer.Observe(o)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64), "ns/request")
		})
	}
}
