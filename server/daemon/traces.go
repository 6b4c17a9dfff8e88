package daemon

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/headgate/headgate/server/internal/tracing"
)

// flushTimeout is how long a stopping server waits for the trace collector.
const flushTimeout = 3 * time.Second

// openTraces returns a tracer. It returns nil if there is no tracing.
func openTraces(ctx context.Context, c *Config) (*tracing.Tracer, error) {
	if c.Traces.Endpoint == "" {
		return nil, nil //nolint:nilnil // a daemon without traces
	}
	t := c.Traces
	t.Version, t.Logger = c.Version, c.Logger
	if c.TraceKeys {
		t.Key = c.shownKey()
	}
	return tracing.New(ctx, t)
}

// interceptors returns the interceptors that create gRPC spans.
func (d *Daemon) interceptors() []grpc.UnaryServerInterceptor {
	if d.traces == nil {
		return nil
	}
	return []grpc.UnaryServerInterceptor{d.traces.Unary}
}

// trace wraps the HTTP handler to create spans. The wrapper must be the outermost handler.
func (d *Daemon) trace() {
	switch {
	case d.traces == nil:
	case d.gateway != nil:
		d.http.Handler = d.traces.Proxy(d.config.Gateway.ReadyPath, d.http.Handler)
	default:
		d.http.Handler = d.traces.Handler(d.http.Handler)
	}
}

// closeTraces sends the queued spans. It gives up after flushTimeout.
func (d *Daemon) closeTraces() {
	if d.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := d.traces.Close(ctx); err != nil {
		d.config.Logger.Warn("stopped before all traces were sent", "error", err)
	}
}
