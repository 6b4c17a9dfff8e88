package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// retry configures the retries of a message that the collector does not accept.
var retry = otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: 500 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: callTimeout}

// recoveryTime is how long messages must succeed before the collector counts as recovered. It limits the log to two
// lines in that time.
const recoveryTime = 10 * time.Second

// exporter logs one line when spans can no longer be sent to the collector, and one when they have been sent again
// for recoveryTime.
type exporter struct {
	sdktrace.SpanExporter

	logger   *slog.Logger
	endpoint string
	closed   context.Context //nolint:containedctx // it ends with the tracer; afterwards no message is sent

	counts *counts

	mu   sync.Mutex
	away bool
	last time.Time // last failure
	lost int       // spans lost in this outage
}

// ExportSpans sends one message. Failures are logged, not returned.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.closed, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	switch {
	case e.closed.Err() != nil: // the server's shutdown is not a failure
	case err != nil:
		if e.last = now; !e.away {
			e.away, e.lost = true, 0
			e.logger.Warn("traces cannot be sent", "collector", e.endpoint, "error", err)
		}
		e.lost += len(spans)
		e.counts.lost.Add(int64(len(spans)))
	default:
		e.counts.sent.Add(int64(len(spans)))
		e.back(now)
	}
	return nil
}

// back logs the end of a collector outage.
func (e *exporter) back(now time.Time) {
	if e.away && now.Sub(e.last) >= recoveryTime {
		e.away = false
		e.logger.Info("traces are sent again", "collector", e.endpoint, "lost", e.lost)
	}
}

// Stats counts spans since the start. Ended spans that are neither sent nor lost are waiting, or were dropped because
// too many were waiting.
type Stats struct{ Ended, Sent, Lost int64 }

// Stats returns the counts.
func (t *Tracer) Stats() Stats {
	return Stats{Ended: t.counts.ended.Load(), Sent: t.counts.sent.Load(), Lost: t.counts.lost.Load()}
}

// counts is a span processor that counts ended spans. The exporter adds the other counts.
type counts struct{ ended, sent, lost atomic.Int64 }

// OnStart does nothing.
func (*counts) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd counts a span.
func (c *counts) OnEnd(sdktrace.ReadOnlySpan) { c.ended.Add(1) }

// Shutdown does nothing.
func (*counts) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (*counts) ForceFlush(context.Context) error { return nil }
