package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// ghost is a shadow policy on every route and in every list. It would deny nearly all requests, and in an outage its
// failure mode would turn them into errors.
const ghost = "ghost"

// routesFile returns the routes that let gRPC requests name a policy, a key and a cost.
func routesFile() string {
	var b strings.Builder
	b.WriteString("routes:\n")
	for _, l := range limits() {
		fmt.Fprintf(&b, "  - {match: {path: /%s}, key: [{header: X-Key}], cost: {header: X-Cost, max: 9}, policies: [%s, %s]}\n", l.policy, l.policy, ghost)
	}
	return b.String()
}

// check runs a caller of Envoy's external authorization until end is called. The answers do not report the mode, so the
// caller uses only policies that a process never decides on its own.
func (c *callers) check(random *rand.Rand, process int, address string) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1, MaxDelay: 50 * time.Millisecond}, MinConnectTimeout: time.Second,
	}))
	if err != nil {
		c.keep(answer{limit: c.denying[0], process: process, class: err.Error()})
		return
	}
	defer func() { _ = conn.Close() }()
	client := auth.NewAuthorizationClient(conn)
	for !c.stop.Load() {
		l, key := c.draw(random, c.denying)
		c.keep(c.authorize(client, process, l, key, 1+random.Int64N(4)))
		pause(random)
	}
}

func (c *callers) authorize(client auth.AuthorizationClient, process int, l *limit, key string, cost int64) answer {
	a := answer{limit: l, key: key, process: process, sent: c.now(), reserved: cost, used: cost}
	ctx, cancel := context.WithTimeout(context.Background(), callerPatience)
	defer cancel()
	response, err := client.Check(ctx, &auth.CheckRequest{Attributes: &auth.AttributeContext{Request: &auth.AttributeContext_Request{
		Http: &auth.AttributeContext_HttpRequest{Method: "GET", Host: "a", Path: "/" + l.policy, Headers: map[string]string{"x-key": key, "x-cost": fmt.Sprint(cost)}},
	}}})
	a.received = c.now()
	switch state := codes.Code(response.GetStatus().GetCode()); {
	case status.Code(err) == codes.DeadlineExceeded && ctx.Err() != nil:
		a.class = "stuck"
	case status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "connection"): // gRPC's own error
		a.class = gone
	case status.Code(err) == codes.Unavailable:
		a.class = serverClass(err.Error())
	case err != nil:
		a.class = err.Error()
	case state != codes.OK && state != codes.PermissionDenied && state != codes.ResourceExhausted:
		a.class = state.String()
	default:
		a.allowed, a.mode, a.assumed = state == codes.OK, "exact", true
	}
	return a
}
