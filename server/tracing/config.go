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

	"github.com/headgate/headgate/internal/files"
)

// Bounds of the headers file.
const (
	maxHeaders     = 16
	maxHeadersFile = 16 << 10
)

// Accepted describes the accepted addresses of a collector.
const Accepted = "http:// or https:// for OTLP over HTTP, grpc:// or grpcs:// for OTLP over gRPC, with a host and no user"

// Config configures a tracer.
type Config struct {
	// Endpoint is the collector's URL; see [Accepted]. Over HTTP the default path is /v1/traces.
	Endpoint string
	// HeadersFile names a file with headers for the collector, such as a token, one "name: value" per line. It is "" if
	// there is no file. The file is read once.
	HeadersFile string
	// Ratio is the share of requests without a client's span that are traced: 0 to 1.
	Ratio float64
	// Key returns a key as it appears in spans. If it is nil, spans contain no keys.
	Key func(key string) string
	// Version is the server's version.
	Version string
	// Logger is the server's log.
	Logger *slog.Logger
}

// exporter returns an exporter to the collector. The exporter connects later.
func (c *Config) exporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	u, err := endpoint(c.Endpoint)
	if err != nil {
		return nil, err
	}
	headers, err := readHeaders(c.HeadersFile)
	if err != nil {
		return nil, fmt.Errorf("otlp-headers-file: %w", err)
	}
	switch u.Scheme {
	case "http", "https":
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithHeaders(headers),
			otlptracehttp.WithTimeout(callTimeout), otlptracehttp.WithRetry(otlptracehttp.RetryConfig(retry)))
	default:
		security := otlptracegrpc.WithInsecure()
		if u.Scheme == "grpcs" {
			security = otlptracegrpc.WithTLSCredentials(credentials.NewTLS(nil))
		}
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(u.Host), security, otlptracegrpc.WithHeaders(headers),
			otlptracegrpc.WithTimeout(callTimeout), otlptracegrpc.WithRetry(retry))
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

// readHeaders reads the headers file. Its errors do not contain the file's contents.
func readHeaders(path string) (map[string]string, error) {
	headers := map[string]string{}
	if path == "" {
		return headers, nil
	}
	data, err := files.Read(path, maxHeadersFile)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || !validName(name) || value == "" || strings.ContainsFunc(value, notPrintable) {
			return nil, fmt.Errorf("%s: line %d; accepted: name: value", path, number)
		}
		headers[strings.ToLower(name)] = value
	}
	if len(headers) > maxHeaders {
		return nil, fmt.Errorf("%s: %d headers; accepted: up to %d", path, len(headers), maxHeaders)
	}
	return headers, nil
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// validName reports whether a header name is valid for HTTP and for gRPC.
func validName(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
