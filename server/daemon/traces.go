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
func (d *Daemon) interceptors() (all []grpc.UnaryServerInterceptor) {
	if d.traces != nil {
		all = append(all, d.traces.Unary)
	}
	if d.users.grpc != nil {
		all = append(all, guardGRPC(d.users.grpc))
	}
	return all
}

// streamInterceptors run before each stream of gRPC.
func (d *Daemon) streamInterceptors() []grpc.StreamServerInterceptor {
	if d.users.grpc == nil {
		return nil
	}
	return []grpc.StreamServerInterceptor{guardStreams(d.users.grpc)}
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
