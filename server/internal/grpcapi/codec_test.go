package grpcapi

import (
	"strings"
	"testing"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/headgate/headgate/server/internal/envoy"
)

// TestTextThatIsNotUTF8 checks that a client's header that is not UTF-8 is counted: an error would let Envoy pass the
// request (regression: bug 234).
func TestTextThatIsNotUTF8(t *testing.T) {
	_, c := served(t, envoy.Options{}, nil)
	send := func(method, message string) codes.Code {
		return status.Code(c.Invoke(t.Context(), method, []byte(message), nil, grpc.ForceCodecV2(asBytes{})))
	}
	entry := func(value string) string { return field(1, "d") + field(2, field(1, field(1, "a")+field(2, value))) }
	for _, value := range []string{"\xff", "\xc3"} {
		if code := send(pb.RateLimitService_ShouldRateLimit_FullMethodName, entry(value)); code != codes.OK {
			t.Errorf("%q: %s", value, code)
		}
	}
	if r, err := pb.NewRateLimitServiceClient(c).ShouldRateLimit(t.Context(), request("?")); err != nil || r.OverallCode != pb.RateLimitResponse_OVER_LIMIT {
		t.Errorf("the third hit of two: %v, %v", r, err)
	}
	for _, malformed := range []string{entry("\xff")[:9], entry("\xff") + "\xff", field(2, "\xff")} {
		if code := send(pb.RateLimitService_ShouldRateLimit_FullMethodName, malformed); code != codes.Internal {
			t.Errorf("%q: %s", malformed, code)
		}
	}

	authorizing, _ := authorizingServer(t, routes)
	deep := structs(10_000)
	header := field(3, field(1, "x-plan")+field(2, "\xff"))
	for content, want := range map[string]codes.Code{
		field(4, field(2, field(2, "GET")+header+field(4, "/plan\xff"))): codes.OK,
		field(11, field(1, field(1, "x")+field(2, deep))):                codes.Internal,
	} {
		if err := authorizing.Invoke(t.Context(), auth.Authorization_Check_FullMethodName, []byte(field(1, content)), nil, grpc.ForceCodecV2(asBytes{})); status.Code(err) != want {
			t.Errorf("%.40q: %v, want %s", strings.ToValidUTF8(content, "?"), err, want)
		}
	}
}

// structs encodes a Struct in a Struct, and so on, around a text that is not UTF-8.
func structs(depth int) string {
	innermost := field(1, "\xff")
	size, heads := len(innermost), make([]string, depth)
	for i := range heads {
		head := ""
		for _, number := range []protowire.Number{5, 2} {
			head = lengthOf(number, len(head)+size) + head
		}
		head = field(1, "a") + head
		head = lengthOf(1, len(head)+size) + head
		heads[depth-1-i], size = head, size+len(head)
	}
	return strings.Join(heads, "") + innermost
}

// lengthOf encodes what comes before a value of a number of bytes.
func lengthOf(number protowire.Number, size int) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(size)))
}
