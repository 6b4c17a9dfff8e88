package oteladapter_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/headgate/headgate"
	oteladapter "github.com/headgate/headgate/adapter/otel"
	"github.com/headgate/headgate/internal/rule"
)

func text(set []attribute.KeyValue) (all string) {
	for _, a := range set {
		all += string(a.Key) + "=" + a.Value.AsString() + " "
	}
	return all
}

// TestCounterAndSpan checks that the counters have the attributes policy, outcome and mode, that the caller's span
// contains an event for each decision, and that neither the counters nor the events contain the key.
func TestCounterAndSpan(t *testing.T) {
	reader, spans := metric.NewManualReader(), tracetest.NewInMemoryExporter()
	observer, err := oteladapter.New(metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithObserver(observer.Observe))
	defer limiter.Close()
	api := limiter.PolicyOf("api", rule.FixedWindow(rule.PerHour(1)))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	ctx, span := tracer.Start(context.Background(), "request")
	for range 3 {
		_, _ = api.Allow(ctx, "a-key")
	}
	_, _ = api.Peek(ctx, "a-key", 1)
	span.End()
	_, _ = api.Allow(context.Background(), "") // without a span

	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, point := range data.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		got = append(got, fmt.Sprint(text(point.Attributes.ToSlice()), point.Value))
	}
	slices.Sort(got)
	want := []string{
		"headgate.mode= headgate.outcome=invalid headgate.policy=api 1",
		"headgate.mode=exact headgate.outcome=allowed headgate.policy=api 1",
		"headgate.mode=exact headgate.outcome=denied headgate.policy=api 2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	events := spans.GetSpans()[0].Events
	if len(events) != 3 || events[2].Name != "headgate.decision" || text(events[2].Attributes) != "headgate.mode=exact headgate.outcome=denied headgate.policy=api " {
		t.Errorf("%+v", events)
	}
}

// A nil provider is an error, and a nil observer counts nothing.
func TestNilProvider(t *testing.T) {
	observer, err := oteladapter.New(nil)
	if err == nil {
		t.Error("no error")
	}
	observer.Observe(t.Context(), headgate.Result{})
}
