// Package tracing creates a span for each sampled request and sends the spans to an OpenTelemetry collector over
// OTLP.
//
//	tracing.go   the tracer, and sampling
//	request.go   spans of HTTP and gRPC requests, in the client's trace
//	proxy.go     spans of requests that the gateway forwards
//	decision.go  decisions in spans; spans of RESP requests
//	config.go    the collector's address
//
// No request waits for the collector. Spans wait in a bounded queue, and are dropped while it is full.
package tracing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/headgate/headgate/server/internal/lograte"
)

// Bounds of waiting spans and of messages.
const (
	// MaxQueue is the maximum number of spans that wait for the collector. Further spans are dropped.
	MaxQueue = 2048
	// maxBatch is the maximum number of spans in one message.
	maxBatch = 512
	// batchDelay is how long the first span of a message waits for others.
	batchDelay = 2 * time.Second
	// exportTimeout bounds one message including its retries, and callTimeout bounds one attempt.
	exportTimeout = 5 * time.Second
	callTimeout   = 3 * time.Second
	// maxValue is the maximum size of a string attribute.
	maxValue = 256
)

const scope = "github.com/headgate/headgate/server"

var propagator = propagation.TraceContext{}

// Tracer creates spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	exporter sdktrace.SpanExporter
	tracer   trace.Tracer
	ratio    float64
	key      func(string) string // nil if spans contain no keys
}

// New returns a tracer that sends to a collector. It does not wait for the collector. It returns an error if the
// address is invalid.
func New(ctx context.Context, c Config) (*Tracer, error) {
	to, err := c.exporter(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithHost(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "headgate"), attribute.String("service.version", c.Version)),
		resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
	if err != nil {
		return nil, fmt.Errorf("otlp-traces: %w", err)
	}
	// A collector that is away fails each message, so the lines are bounded.
	lines := &lograte.Limit{Lines: 1, Per: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		lines.Warn(c.Logger, "traces cannot be sent", "collector", c.Endpoint, "error", err)
	}))
	otel.SetLogger(logr.FromSlogHandler(c.Logger.Handler()))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxValue
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // sampled has already chosen the requests
		sdktrace.WithBatcher(to,
			sdktrace.WithMaxQueueSize(MaxQueue), sdktrace.WithMaxExportBatchSize(maxBatch),
			sdktrace.WithBatchTimeout(batchDelay), sdktrace.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{provider: provider, exporter: to, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(c.Version)), ratio: c.Ratio, key: c.Key}, nil
}

// Close sends the waiting spans. When ctx ends, it drops the rest.
func (t *Tracer) Close(ctx context.Context) error {
	err := t.provider.Shutdown(ctx)
	ended, end := context.WithCancel(ctx)
	end()
	_ = t.exporter.Shutdown(ended) // ends a message that is still being sent
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// sampled reports whether a request gets a span. If the client sent a span, the request gets one if the client's span
// is sampled. Otherwise a random share of the requests gets one. sampled is called before a span is created, so that
// a request without a span costs almost nothing.
func (t *Tracer) sampled(client trace.SpanContext) bool {
	if client.IsValid() {
		return client.IsSampled()
	}
	return t.draw()
}

// draw returns true with probability [Config.Ratio].
func (t *Tracer) draw() bool { return t.ratio > 0 && rand.Float64() < t.ratio }
