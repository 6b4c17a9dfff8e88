package daemon

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/headgate/headgate/server/tracing"
)

// flushTimeout is how long a server that stops waits for the collector of traces.
const flushTimeout = 3 * time.Second

// openTraces returns a tracer; nil if nothing is traced.
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

// interceptors make the spans of gRPC.
func (d *Daemon) interceptors() []grpc.UnaryServerInterceptor {
	if d.traces == nil {
		return nil
	}
	return []grpc.UnaryServerInterceptor{d.traces.Unary}
}

// trace makes spans of the requests of HTTP. It runs before other handlers.
func (d *Daemon) trace() {
	switch {
	case d.traces == nil:
	case d.gateway != nil:
		d.http.Handler = d.traces.Proxy(d.config.Gateway.ReadyPath, d.http.Handler)
	default:
		d.http.Handler = d.traces.Handler(d.http.Handler)
	}
}

// closeTraces sends the spans that wait, and does not wait long for a collector that does
// not answer.
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
