package tracing

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/headgate/headgate/adapter/outcomes"
)

// traced lists the paths whose requests get spans. Health checks get none.
var traced = map[string]bool{
	"/v1/allow": true, "/v1/peek": true, "/v1/give": true, "/v1/reset": true, "/json": true,
	"/v1/reserve": true, "/v1/commit": true, "/v1/report": true, "/v1/cancel": true, "/v1/acquire": true, "/v1/renew": true, "/v1/release": true,
	"/v1/authorize": true,
}

// spanKey is the key of the *requestSpan in a context.
type spanKey struct{}

// requestSpan is the span of an HTTP or gRPC request.
type requestSpan struct {
	trace.Span

	decided bool // Observe has been called
}

// begin starts a request's span in the client's trace.
func (t *Tracer) begin(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, *requestSpan) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
	s := &requestSpan{Span: span}
	return context.WithValue(ctx, spanKey{}, s), s
}

// end ends the span and, if the request got no decision, sets its outcome first. Such a request either failed, or has
// no limit.
func (s *requestSpan) end(failed bool) {
	switch {
	case s.decided:
	case failed:
		s.SetAttributes(outcomeKey.String(outcomes.Invalid.String()))
	default:
		s.SetAttributes(outcomeKey.String(outcomes.Allowed.String()))
	}
	s.End()
}

// Handler creates the spans for HTTP requests.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !traced[r.URL.Path] {
			next.ServeHTTP(w, r)
			return
		}
		ctx, sampled := t.ofClient(r)
		if !sampled {
			next.ServeHTTP(w, r)
			return
		}
		method := methodOf(r)
		ctx, span := t.begin(ctx, method+" "+r.URL.Path,
			attribute.String("http.request.method", method), attribute.String("http.route", r.URL.Path), attribute.String("url.path", r.URL.Path))
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", status.status))
			span.end(status.status >= http.StatusBadRequest)
		}()
		next.ServeHTTP(status, r.WithContext(ctx))
	})
}

// ofClient returns the request's context with the client's span, and reports whether the request gets its own span.
func (t *Tracer) ofClient(r *http.Request) (context.Context, bool) {
	ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return ctx, t.sampled(trace.SpanContextFromContext(ctx))
}

// methodOf returns a request's method. It returns _OTHER for an unknown method, so that clients cannot choose span
// names.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	default:
		return "_OTHER"
	}
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// WriteHeader records the status. If the body was too large, it closes the connection, as net/http does with its own
// writer. If it did not, the server would read the rest of the body.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	if status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Unary creates the span for a gRPC call. It is a [grpc.UnaryServerInterceptor].
func (t *Tracer) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if info.FullMethod != shouldRateLimit && info.FullMethod != check {
		return next(ctx, request)
	}
	inTrace := propagator.Extract(ctx, carrier{ctx})
	if !t.sampled(trace.SpanContextFromContext(inTrace)) {
		return next(ctx, request)
	}
	service, method, _ := strings.Cut(info.FullMethod[1:], "/")
	inTrace, span := t.begin(inTrace, info.FullMethod[1:],
		attribute.String("rpc.system", "grpc"), attribute.String("rpc.service", service), attribute.String("rpc.method", method))
	answer, err := next(inTrace, request)
	span.end(err != nil)
	return answer, err
}

// The gRPC methods whose calls have spans.
const (
	shouldRateLimit = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
	check           = "/envoy.service.auth.v3.Authorization/Check"
)

// carrier reads a call's metadata without copying all of it.
type carrier struct{ ctx context.Context } //nolint:containedctx // used within one call

// Get returns the first value of a key.
func (c carrier) Get(key string) string {
	if values := metadata.ValueFromIncomingContext(c.ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set does nothing. Neither Set nor Keys is called, because the client's span is only read.
func (c carrier) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier].
func (c carrier) Keys() []string { return nil }
