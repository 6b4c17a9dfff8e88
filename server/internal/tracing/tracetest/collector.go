// Package tracetest provides a trace collector for tests. It accepts OTLP over gRPC and over HTTP.
package tracetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	pb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the spans that it receives.
type Collector struct {
	pb.UnimplementedTraceServiceServer

	// HTTP and GRPC are the collector's URLs.
	HTTP, GRPC string

	mu     sync.Mutex
	spans  []*tracepb.Span
	about  map[string]string
	tokens []string
}

// New starts a collector that runs until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	web := httptest.NewServer(http.HandlerFunc(c.post))
	t.Cleanup(web.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterTraceServiceServer(s, c)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	c.HTTP, c.GRPC = web.URL, "grpc://"+l.Addr().String()
	return c
}

// post implements OTLP over HTTP.
func (c *Collector) post(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var request pb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(data, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.keep(&request, r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export implements OTLP over gRPC.
func (c *Collector) Export(ctx context.Context, request *pb.ExportTraceServiceRequest) (*pb.ExportTraceServiceResponse, error) {
	token := ""
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
		token = values[0]
	}
	c.keep(request, token)
	return &pb.ExportTraceServiceResponse{}, nil
}

func (c *Collector) keep(request *pb.ExportTraceServiceRequest, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = append(c.tokens, token)
	for _, resource := range request.ResourceSpans {
		c.about = texts(resource.GetResource().GetAttributes())
		for _, inScope := range resource.ScopeSpans {
			c.spans = append(c.spans, inScope.Spans...)
		}
	}
}

// Span is a span, with its attributes as text.
type Span struct {
	*tracepb.Span

	Texts map[string]string
}

// Spans waits until n spans have arrived, and returns all spans by name. It fails the test if they do not arrive.
func (c *Collector) Spans(t testing.TB, n int) map[string][]Span {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		got := len(c.spans)
		if got >= n {
			defer c.mu.Unlock()
			byName := map[string][]Span{}
			for _, s := range c.spans {
				byName[s.Name] = append(byName[s.Name], Span{s, texts(s.Attributes)})
			}
			return byName
		}
		c.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("the collector has %d spans, want %d", got, n)
		}
	}
}

// Tokens returns the Authorization header of each message.
func (c *Collector) Tokens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.tokens...)
}

// About returns the resource attributes of the last message. They describe the server that sent it.
func (c *Collector) About() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.about
}

func texts(attributes []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		default:
			all[a.Key] = a.GetValue().String()
		}
	}
	return all
}
