package tracing_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/tracing"
	"github.com/headgate/headgate/server/internal/tracing/tracetest"
)

var quiet = slog.New(slog.DiscardHandler)

// TestConfigErrors checks that an error names the setting and the accepted values, but no secret.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ endpoint, want string }{
		{"", "otlp-traces \"\"; accepted: http://"},
		{"127.0.0.1:4317", "accepted: http://"},
		{"ftp://collector", "accepted: http://"},
		{"http://", "accepted: http://"},
		{"http://me:s3cret@collector", "accepted: http://"},
		{"http://collector?token=1", "accepted: http://"},
		{"grpc://collector:4317/path", "accepted: http://"},
	} {
		_, err := tracing.New(t.Context(), tracing.Config{Endpoint: c.endpoint, Logger: quiet})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", c.endpoint, err, c.want)
		}
	}
}

// TestRatio checks that about the configured share of a connection's requests get spans, with the right times.
func TestRatio(t *testing.T) {
	collector := tracetest.New(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: collector.GRPC, Ratio: 0.1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	const calls, requests = 100, 50
	o := &service.Observed{FrontEnd: service.RESP, Began: time.Unix(100, 0), Ended: time.Unix(100, 5e6)}
	for range requests {
		o.Requests = append(o.Requests, decide.Request{Kind: engine.OpPeek, Item: decide.Item{Key: "k"}})
		o.Responses = append(o.Responses, decide.Response{Answer: engine.Answer{Allowed: true}})
	}
	for range calls {
		tracer.Observe(o)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := collector.Spans(t, 1)["RESP peek"]
	if n := len(spans); n < 380 || n > 620 { // 500 are expected; the range is more than 5 standard deviations
		t.Errorf("%d spans of %d requests", n, calls*requests)
	}
	if s := spans[0]; s.StartTimeUnixNano != 100e9 || s.EndTimeUnixNano != 100e9+5e6 {
		t.Errorf("from %d to %d", s.StartTimeUnixNano, s.EndTimeUnixNano)
	}
}

// TestUnsampledIsFree checks that a request without a span allocates nothing.
func TestUnsampledIsFree(t *testing.T) {
	collector := tracetest.New(t)
	tracer, err := tracing.New(t.Context(), tracing.Config{Endpoint: collector.HTTP, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tracer.Close(t.Context()) }()
	for _, from := range []service.FrontEnd{service.RESP, service.HTTP} {
		o := &service.Observed{Context: t.Context(), FrontEnd: from, Requests: make([]decide.Request, 64), Responses: make([]decide.Response, 64)}
		if n := testing.AllocsPerRun(100, func() { tracer.Observe(o) }); n > 0 {
			t.Errorf("%v: %v allocations", from, n)
		}
	}
}
