package tracing

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// collector accepts all spans, or rejects them with err.
type collector struct{ err error }

func (c *collector) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return c.err }

func (*collector) Shutdown(context.Context) error { return nil }

// TestStats checks that ended spans are counted, both those that the collector accepted and those that it rejected.
func TestStats(t *testing.T) {
	to, c := new(collector), new(counts)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c), sdktrace.WithSyncer(&exporter{
		SpanExporter: to, logger: slog.New(slog.DiscardHandler), closed: t.Context(), counts: c,
	}))
	tracer := &Tracer{counts: c}
	end := func(spans int) {
		for range spans {
			_, span := provider.Tracer("x").Start(t.Context(), "s")
			span.End()
		}
	}
	end(3)
	to.err = errors.New("away")
	end(2)
	to.err = nil
	end(1)
	if got, want := tracer.Stats(), (Stats{Ended: 6, Sent: 4, Lost: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
