package daemon_test

import (
	"context"
	"strings"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// h2 returns frames after the HTTP/2 preface and empty settings.
func h2(frames string) string {
	return http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + frames
}

// calling returns an attack that calls a method with a client. The answer must be an error that contains want, or no
// error if want is "".
func calling(want string, call func(ctx context.Context, c *grpc.ClientConn) error) func(*testing.T, string) {
	return func(t *testing.T, address string) {
		t.Helper()
		c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		switch err := call(t.Context(), c); {
		case want == "" && err != nil:
			t.Errorf("%v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// limiting returns an attack that calls the rate limit service.
func limiting(want string, r *pb.RateLimitRequest) func(*testing.T, string) {
	return calling(want, func(ctx context.Context, c *grpc.ClientConn) error {
		_, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(ctx, r)
		return err
	})
}

func hostileGRPC() []hostileCase {
	descriptors := func(n int, key, value string) (all []*ratelimit.RateLimitDescriptor) {
		for range n {
			all = append(all, &ratelimit.RateLimitDescriptor{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: key, Value: value}}})
		}
		return all
	}
	cases := []hostileCase{
		{name: "no HTTP/2", send: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{name: "settings without end", send: h2(strings.Repeat("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 20_000))},
		{name: "pings without end", send: h2(strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00abcdefgh", 20_000))},
		{name: "a frame of 16 MiB", send: h2("\xff\xff\xff\x00\x00\x00\x00\x00\x01" + strings.Repeat("x", 1<<20))},
		{name: "data of no stream", send: h2("\x00\x00\x01\x00\x00\x00\x00\x00\x09x")},
		{name: "headers that are none", send: h2("\x00\x00\x04\x01\x04\x00\x00\x00\x01\xff\xff\xff\xff")},
		{name: "resets of streams that never were", send: h2(strings.Repeat("\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08", 20_000))},
		{name: "windows beyond 31 bits", send: h2(strings.Repeat("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff", 4))},
		{name: "connections", do: flood(300, http2.ClientPreface)},
		{name: "a message of 32 MiB", do: limiting("larger than max", &pb.RateLimitRequest{Domain: strings.Repeat("d", 32<<20)})},
		{name: "no domain", do: limiting("domain", &pb.RateLimitRequest{Descriptors: descriptors(1, "a", "1")})},
		{name: "no descriptor", do: limiting("descriptor", &pb.RateLimitRequest{Domain: "d"})},
		{name: "too many descriptors", do: limiting("descriptors", &pb.RateLimitRequest{Domain: "d", Descriptors: descriptors(20_000, "a", "1")})},
		{name: "a value of 1 MiB", do: limiting("larger than max", &pb.RateLimitRequest{Domain: "d", Descriptors: descriptors(1, "a", strings.Repeat("v", 1<<20))})},
		{name: "hits beyond 32 bits", do: limiting("", &pb.RateLimitRequest{Domain: "d", Descriptors: descriptors(1, "a", "2"), HitsAddend: 1<<32 - 1})},
		{name: "no such service", do: calling("Unimplemented", func(ctx context.Context, c *grpc.ClientConn) error {
			return c.Invoke(ctx, "/no.such.Service/Method", &pb.RateLimitRequest{}, &pb.RateLimitResponse{})
		})},
		{name: "a check without a request", do: calling("attributes.request.http is not set", func(ctx context.Context, c *grpc.ClientConn) error {
			_, err := auth.NewAuthorizationClient(c).Check(ctx, &auth.CheckRequest{})
			return err
		})},
		{name: "a check with a path that is none", do: calling("", func(ctx context.Context, c *grpc.ClientConn) error {
			_, err := auth.NewAuthorizationClient(c).Check(ctx, &auth.CheckRequest{Attributes: &auth.AttributeContext{
				Source:  &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: "no address"}}}},
				Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{Path: "%zz?%", Method: "\x00", Host: "[::"}},
			}})
			return err
		})},
	}
	for i := range cases {
		cases[i].to = "grpc"
	}
	return cases
}
