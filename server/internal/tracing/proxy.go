package tracing

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/gateway"
)

// Proxy creates the spans of forwarded requests, except requests for readyPath. The upstream's span is a child of the
// request's span. Only the method is used as the span's name. Paths are omitted, because clients choose them and they
// can contain a key.
func (t *Tracer) Proxy(readyPath string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, sampled := t.ofClient(r)
		if !sampled || r.URL.Path == readyPath {
			next.ServeHTTP(w, r)
			return
		}
		method := methodOf(r)
		ctx, span := t.begin(ctx, method, attribute.String("http.request.method", method))
		propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", status.status))
			if status.status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		next.ServeHTTP(status, r.WithContext(ctx))
	})
}

// upstreamOf returns the name of the upstream for a request decided by the gateway.
func upstreamOf(r *decide.Request) string {
	if u := r.Route.Route.Upstream; u != nil {
		return u.Name
	}
	return gateway.DefaultUpstream
}
