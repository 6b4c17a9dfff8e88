package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

// The attribute keys. The attributes of adapter/otel have the same names and values.
const (
	policyKey    = attribute.Key("headgate.policy")
	outcomeKey   = attribute.Key("headgate.outcome")
	modeKey      = attribute.Key("headgate.mode")
	frontEndKey  = attribute.Key("headgate.frontend")
	requestsKey  = attribute.Key("headgate.requests")
	deniedKey    = attribute.Key("headgate.denied")
	requestIDKey = attribute.Key("headgate.request_id")
	keyKey       = attribute.Key("headgate.key")
	upstreamKey  = attribute.Key("headgate.upstream")
)

// Observe adds the decisions of a call to the span of its HTTP or gRPC request. Requests on a RESP connection get
// their own spans, because RESP carries no client trace. Observe implements [service.Observer].
func (t *Tracer) Observe(o *service.Observed) {
	if o.FrontEnd == service.RESP {
		t.spans(o)
		return
	}
	if o.Context == nil {
		return
	}
	if span, ok := o.Context.Value(spanKey{}).(*requestSpan); ok {
		span.decided = true
		t.describe(span, o)
	}
}

// spans creates a span for each sampled request on a RESP connection.
func (t *Tracer) spans(o *service.Observed) {
	for i := range o.Requests {
		if !t.draw() {
			continue
		}
		_, span := t.tracer.Start(context.Background(), "RESP "+o.Requests[i].Kind.String(),
			trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(o.Began))
		one := o.One(i)
		t.describe(span, &one)
		span.End(trace.WithTimestamp(o.Ended))
	}
}

// describe sets the attributes of a span. For several requests, such as a batch, outcome is the worst outcome, and
// policy and mode are set only if they are the same for all.
func (t *Tracer) describe(span trace.Span, o *service.Observed) {
	var s summary
	for i := range o.Requests {
		r := &o.Responses[i]
		s.add(o.Policy(i), r.Allowed, r.Promise.Mode, r.Err)
	}
	attributes := append(make([]attribute.KeyValue, 0, 9), frontEndKey.String(o.FrontEnd.String()), outcomeKey.String(s.worst.String()))
	if s.policy != "" {
		attributes = append(attributes, policyKey.String(s.policy))
	}
	if s.mode != "" {
		attributes = append(attributes, modeKey.String(s.mode))
	}
	if s.requests != 1 {
		attributes = append(attributes, requestsKey.Int(s.requests), deniedKey.Int(s.denied))
	}
	if o.FrontEnd == service.Gateway {
		attributes = append(attributes, upstreamKey.String(upstreamOf(&o.Requests[0])))
	}
	if id := requestid.From(o.Context); id != "" {
		attributes = append(attributes, requestIDKey.String(id))
	}
	if t.key != nil && s.requests == 1 {
		attributes = append(attributes, keyKey.String(text(t.key(o.Key(0)))))
	}
	span.SetAttributes(attributes...)
	if s.err != nil {
		span.SetStatus(codes.Error, text(s.err.Error()))
	}
}

// text returns a copy of a string from a client or store, converted to valid UTF-8. It copies because the memory of a
// key is reused, and converts because invalid bytes would prevent the whole message from being sent.
func text(from string) string { return strings.Clone(strings.ToValidUTF8(from, "\uFFFD")) }

// summary collects the attributes of a span over its requests.
type summary struct {
	requests, denied int
	worst            outcomes.Outcome
	policy, mode     string // "" if they differ; the mode of an error is ""
	err              error  // error of the first undecided request
}

func (s *summary) add(policy string, allowed bool, mode engine.Mode, err error) {
	outcome, name := outcomes.Of(allowed, err), ""
	switch outcome {
	case outcomes.Allowed:
		name = mode.String()
	case outcomes.Denied:
		name = mode.String()
		s.denied++
	case outcomes.Unknown:
		if s.err == nil {
			s.err = err
		}
	}
	if s.requests == 0 {
		s.policy, s.mode = policy, name
	}
	if s.policy != policy {
		s.policy = ""
	}
	if s.mode != name {
		s.mode = ""
	}
	s.requests++
	s.worst = max(s.worst, outcome)
}
