package grpcapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/costtest"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/service"
)

// asBytes is a codec for messages that are already bytes.
type asBytes struct{}

func (asBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (asBytes) Unmarshal(mem.BufferSlice, any) error { return nil }
func (asBytes) Name() string                         { return "proto" }

// field encodes a length-delimited field of a message.
func field(number protowire.Number, value string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value))
}

// manyRules returns a service with a rule whose statistics contain values from requests.
func manyRules(t testing.TB) *envoy.Service {
	t.Helper()
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	rules := envoy.New(envoy.Options{DynamicMetadata: true}, filelimit.New(policy.Empty(), limiter).Do)
	if _, err := rules.Load([]envoy.File{{Name: "d.yaml", Data: []byte("domain: d\ndescriptors: [{key: a, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 1000000}}]")}}); err != nil {
		t.Fatal(err)
	}
	return rules
}

// frames is the number of bytes around a message: the call's frames and compressed header.
const frames = 64

// TestCostOfMessages (regression: bug 69): a byte of a message costs at most costtest.Most times as much as a byte of
// Envoy's plain request.
func TestCostOfMessages(t *testing.T) {
	routes, err := policy.Parse("p.yaml", []byte("policies: {p: 1000000/s}\nroutes: [{match: {path: /**}, key: [{header: x}], policies: [p]}]"))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	t.Cleanup(func() { _ = limiter.Close() })
	authorizing := service.New(service.Config{Limiter: limiter.Core()})
	authorizing.SetPolicies(routes.Policies, routes.Routes)
	c := connected(t, New(Config{Service: manyRules(t), Authorize: authorizing}))
	input := func(method string) func(name, message string) costtest.Input {
		return func(name, message string) costtest.Input {
			return costtest.Input{Name: name, Size: frames + len(message), Send: func() {
				_ = c.Invoke(t.Context(), method, []byte(message), nil, grpc.ForceCodecV2(asBytes{}))
			}}
		}
	}
	limit, check := input(pb.RateLimitService_ShouldRateLimit_FullMethodName), input(auth.Authorization_Check_FullMethodName)
	entry := field(2, field(1, field(1, "a")+field(2, "1")))
	request := func(content string) string { return field(1, field(4, field(2, field(2, "/x")+content))) }
	costtest.Compare(t, limit("plain", field(1, "d")+field(2, field(1, field(1, "a")+field(2, "customer-17")))),
		limit("1000 descriptors", field(1, "d")+strings.Repeat(entry, 1000)),
		limit("1000 descriptors without entries", field(1, "d")+strings.Repeat(field(2, ""), 1000)),
		limit("more descriptors", field(1, "d")+strings.Repeat(field(2, ""), 60_000)),
		limit("empty entries", field(1, "d")+field(2, strings.Repeat(field(1, ""), 60_000))),
		limit("an unknown domain", field(1, strings.Repeat("d", 1_000_000))),
		limit("a long value", field(1, "d")+field(2, field(1, field(1, "a")+field(2, strings.Repeat("x", 1_000_000))))),
		limit("unknown fields", strings.Repeat(field(99, ""), 40_000)),
		limit("no message", strings.Repeat("\xff", 1_000_000)),
		check("a check", request(field(3, field(1, "x")+field(2, "customer-17")))),
		check("headers of a check", request(manyHeaders(50_000))),
		check("empty headers", request(field(13, strings.Repeat(field(1, ""), 50_000)))),
		check("metadata", field(1, field(11, field(1, field(1, "m")+field(2, field(1, field(1, "l")+field(2, field(6, strings.Repeat(field(1, ""), 50_000))))))))),
		check("nested metadata", field(1, field(11, field(1, field(1, "m")+field(2, field(1, field(1, "l")+field(2, nested(9000)))))))),
	)
}

// manyHeaders encodes a map with n headers.
func manyHeaders(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(field(3, field(1, fmt.Sprint("x", i))+field(2, "1")))
	}
	return b.String()
}

// nested encodes a value with nested lists.
func nested(depth int) (value string) {
	for range depth {
		value = field(6, field(1, value))
	}
	return value
}

// TestCostOfJSON (regression: bug 69): a byte of a body for /json costs at most costtest.Most times as much as a byte
// of a plain body.
func TestCostOfJSON(t *testing.T) {
	server := httptest.NewServer(Paths(manyRules(t), func(context.Context) error { return nil }, false, false, func(service.Refusal) {}, http.NotFoundHandler()))
	defer server.Close()
	raw := costtest.Raw(t, server.Listener.Addr().String(), costtest.HTTP)
	input := func(name, body string) costtest.Input {
		return raw(name, fmt.Sprintf("POST /json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	}
	list := func(element string, n int) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	costtest.Compare(t, input("plain", `{"domain":"d","descriptors":[{"entries":[{"key":"a","value":"customer-17"}]}]}`),
		input("1000 descriptors", `{"domain":"d","descriptors":[`+list(`{"entries":[{"key":"a","value":"1"}]}`, 1000)+`]}`),
		input("1000 descriptors without entries", `{"domain":"d","descriptors":[`+list(`{}`, 1000)+`]}`),
		input("1000 descriptors of 100 entries", `{"domain":"d","descriptors":[`+list(`{"entries":[`+list(`{}`, 100)+`]}`, 1000)+`]}`),
		input("more descriptors", `{"domain":"d","descriptors":[`+list(`{}`, 40_000)+`]}`),
		input("more entries", `{"domain":"d","descriptors":[{"entries":[`+list(`{}`, 40_000)+`]}]}`),
		input("deep nesting", strings.Repeat(`[`, 60_000)),
		input("unknown fields", `{`+list(`"a":1`, 150_000)+`}`),
		input("a long domain", `{"domain":"`+strings.Repeat("d", 1_000_000)+`"}`),
		input("escapes", `{"domain":"`+strings.Repeat(`\u0061`, 150_000)+`"}`),
		input("spaces", `{"domain":"d"`+strings.Repeat(" ", 1_000_000)+`}`),
		input("a long number", `{"hitsAddend":`+strings.Repeat("1", 1_000_000)+`}`),
		input("no JSON", strings.Repeat("x", 1_000_000)),
	)
}
