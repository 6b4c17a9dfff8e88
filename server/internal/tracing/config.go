package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/credentials"
)

// Accepted describes the accepted addresses of a collector.
const Accepted = "http:// or https:// for OTLP over HTTP, grpc:// or grpcs:// for OTLP over gRPC, with a host and no user"

// Config configures a tracer.
type Config struct {
	// Endpoint is the collector's URL; see [Accepted]. Over HTTP the default path is /v1/traces.
	Endpoint string
	// Ratio is the share of requests without a client's span that are traced: 0 to 1.
	Ratio float64
	// Key returns a key as it appears in spans. If it is nil, spans contain no keys.
	Key func(key string) string
	// Version is the server's version.
	Version string
	// Logger is the server's log.
	Logger *slog.Logger
}

// exporter returns an exporter to the collector. The exporter connects later. It reads OTEL_EXPORTER_OTLP_HEADERS, such
// as a token, and OTEL_EXPORTER_OTLP_CERTIFICATE.
func (c *Config) exporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	u, err := endpoint(c.Endpoint)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "http", "https":
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithTimeout(callTimeout))
	default:
		security := otlptracegrpc.WithInsecure()
		if u.Scheme == "grpcs" {
			security = otlptracegrpc.WithTLSCredentials(credentials.NewTLS(nil))
		}
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(u.Host), security, otlptracegrpc.WithTimeout(callTimeout))
	}
}

// endpoint parses a collector's URL.
func endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("otlp-traces: not a URL; accepted: " + Accepted)
	}
	bad := u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != ""
	switch u.Scheme {
	case "http", "https":
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
	case "grpc", "grpcs":
		bad = bad || strings.Trim(u.Path, "/") != ""
		if u.Port() == "" {
			u.Host += ":4317"
		}
	default:
		bad = true
	}
	if bad {
		return nil, fmt.Errorf("otlp-traces %q; accepted: %s", u.Redacted(), Accepted)
	}
	return u, nil
}
