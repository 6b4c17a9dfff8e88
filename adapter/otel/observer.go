// Package oteladapter counts the decisions of a [headgate.Limiter] with OpenTelemetry, and records them in the
// caller's span.
//
//	observer, err := oteladapter.New(otel.GetMeterProvider())
//	limiter := headgate.New(headgate.WithObserver(observer.Observe))
//
// The counter is headgate.decisions. Its attributes are headgate.policy, headgate.outcome and headgate.mode, with the
// same values as in the server's metrics. If the call's context contains a recording span, the observer adds an event
// headgate.decision with the same attributes to the span. Keys are never attributes. Decisions of package policy's
// shadows are counted in headgate.shadow.decisions, without events.
package oteladapter

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/adapter/outcomes"
)

const scope = "github.com/headgate/headgate/adapter/otel"

// Observer counts decisions. It is safe for concurrent use.
type Observer struct {
	counter, shadows metric.Int64Counter

	rows *outcomes.Map[*policyAttributes]
}

// policyAttributes holds the attributes for one policy, so that they are created only once.
type policyAttributes = outcomes.Table[attributes]

type attributes struct {
	add  []metric.AddOption
	span trace.EventOption
}

// New returns an observer that counts with a meter from the provider. A nil provider is an error.
func New(provider metric.MeterProvider) (*Observer, error) {
	if provider == nil {
		return nil, errors.New("the meter provider is nil; accepted: otel.GetMeterProvider()")
	}
	counter, err := newCounter(provider, "headgate.decisions", "Decided requests that take units.")
	if err != nil {
		return nil, err
	}
	shadows, err := newCounter(provider, "headgate.shadow.decisions", "What shadows would have decided.")
	if err != nil {
		return nil, err
	}
	return &Observer{counter: counter, shadows: shadows, rows: outcomes.NewMap(newRow)}, nil
}

func newCounter(provider metric.MeterProvider, name, about string) (metric.Int64Counter, error) {
	counter, err := provider.Meter(scope).Int64Counter(name, metric.WithDescription(about), metric.WithUnit("{request}"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return counter, nil
}

func newRow(policy string) *policyAttributes {
	r := new(policyAttributes)
	r.Each(func(outcome, mode string, a *attributes) {
		set := attribute.NewSet(
			attribute.String("headgate.policy", policy), attribute.String("headgate.outcome", outcome), attribute.String("headgate.mode", mode))
		*a = attributes{add: []metric.AddOption{metric.WithAttributeSet(set)}, span: trace.WithAttributes(set.ToSlice()...)}
	})
	return r
}

// Observe counts one request. Pass it to [headgate.WithObserver]. A nil observer counts nothing.
func (o *Observer) Observe(ctx context.Context, r headgate.Result) {
	if o == nil || o.rows == nil {
		return
	}
	a := o.rows.Named(r.Policy).At(r.Decision.Allowed, r.Decision.Promise.Mode, r.Err)
	if r.Shadow {
		o.shadows.Add(ctx, 1, a.add...)
		return
	}
	o.counter.Add(ctx, 1, a.add...)
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("headgate.decision", a.span)
	}
}
