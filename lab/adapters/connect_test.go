package adapters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

type empty = emptypb.Empty

// connectUpstream starts a Connect service, and returns its address.
func connectUpstream(t *testing.T) string {
	mux := http.NewServeMux()
	mux.Handle("/demo/Unary", connect.NewUnaryHandler("/demo/Unary", func(context.Context, *connect.Request[empty]) (*connect.Response[empty], error) {
		return connect.NewResponse(new(empty)), nil
	}, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle("/demo/Stream", connect.NewServerStreamHandler("/demo/Stream", func(_ context.Context, _ *connect.Request[empty], s *connect.ServerStream[empty]) error {
		return s.Send(new(empty))
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// gatewayTo starts a gateway with a policies file, and returns its address.
func gatewayTo(t *testing.T, file string) string {
	t.Helper()
	base, err := (policy.Reader{Gateway: true}).Parse("policies.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d, err := daemon.New(ctx, daemon.Config{
		RESP: daemon.Off, HTTP: "127.0.0.1:0", Base: base, Gateway: &daemon.GatewayConfig{DenyUnmatched: true, StallTimeout: time.Minute, UpstreamTimeout: time.Minute},
	})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + d.HTTPAddr().String()
}

// TestConnectThroughTheGateway checks that a client of Connect gets the gateway's denials as its own errors, with the
// headers of the decision: over unary calls in each encoding and by GET, and over streams. Other clients get a problem.
// Regression: bug 179.
func TestConnectThroughTheGateway(t *testing.T) {
	url := gatewayTo(t, `
upstreams: {demo: `+connectUpstream(t)+`}
policies: {calls: {algorithm: fixed-window, limit: 1, window: 1h}}
routes: [{match: {path: /demo/*}, upstream: demo, key: [{header: X-Test}], policies: [calls]}]
`)
	plain := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(plain.CloseIdleConnections)
	for name, options := range map[string][]connect.ClientOption{
		"proto": nil,
		"json":  {connect.WithProtoJSON()},
		"get":   {connect.WithHTTPGet(), connect.WithIdempotency(connect.IdempotencyNoSideEffects)},
	} {
		unary := connect.NewClient[empty, empty](plain, url+"/demo/Unary", options...)
		stream := connect.NewClient[empty, empty](plain, url+"/demo/Stream", options...)
		for kind, call := range map[string]func() error{
			"unary": func() error {
				r := connect.NewRequest(new(empty))
				r.Header().Set("X-Test", name)
				_, err := unary.CallUnary(t.Context(), r)
				return err
			},
			"stream": func() error {
				r := connect.NewRequest(new(empty))
				r.Header().Set("X-Test", name+" stream")
				s, err := stream.CallServerStream(t.Context(), r)
				if err != nil {
					return err
				}
				defer s.Close()
				for s.Receive() {
				}
				return s.Err()
			},
		} {
			if err := call(); err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			err, ok := call().(*connect.Error) //nolint:errorlint // the client's own type
			if !ok || err.Code() != connect.CodeResourceExhausted || err.Message() != "the rate limit is reached: calls" {
				t.Errorf("%s, %s: denied with %v", name, kind, err)
				continue
			}
			if h := err.Meta(); h.Get("Retry-After") == "" || h.Get("Ratelimit") == "" {
				t.Errorf("%s, %s: the metadata is %v", name, kind, h)
			}
		}
	}
	r := connect.NewRequest(new(empty)) // lacks its key
	if _, err := connect.NewClient[empty, empty](plain, url+"/demo/Unary").CallUnary(t.Context(), r); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("without a key: %v", err)
	}
	if got := get(t, url+"/demo/Unary", "X-Test", "proto"); got.status != http.StatusTooManyRequests || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("another client gets %+v", got)
	}
}
