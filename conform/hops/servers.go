package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/daemon"
)

// quiet returns the configuration of an in-memory server without listeners.
func quiet() daemon.Config {
	return daemon.Config{RESP: daemon.Off, HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)}
}

func started(ctx context.Context, c daemon.Config) (*daemon.Daemon, error) {
	d, err := daemon.New(ctx, c)
	if err == nil {
		go func() { _ = d.Run(ctx, ctx) }()
	}
	return d, err
}

// shouldRateLimit returns a function that sends a request with one descriptor.
func shouldRateLimit(ctx context.Context) (decide func() error, err error) {
	directory, err := os.MkdirTemp("", "hops")
	if err != nil {
		return nil, err
	}
	rules := "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1000}}]\n"
	if err := os.WriteFile(filepath.Join(directory, "d.yaml"), []byte(rules), 0o600); err != nil {
		return nil, err
	}
	c := quiet()
	c.GRPC = daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: directory}
	d, err := started(ctx, c)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	client, request := pb.NewRateLimitServiceClient(conn), &pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a", Value: "1"}}},
	}}
	return func() error {
		r, err := client.ShouldRateLimit(ctx, request)
		if err == nil && r.OverallCode != pb.RateLimitResponse_OK {
			err = fmt.Errorf("answered %s", r.OverallCode)
		}
		return err
	}, nil
}

// proxied returns a function that sends a request through the gateway. The request matches a route.
func proxied(ctx context.Context) (decide func() error, err error) {
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	to, err := url.Parse(upstream.URL)
	if err != nil {
		return nil, err
	}
	c := quiet()
	c.HTTP = "127.0.0.1:0"
	c.Gateway = &daemon.GatewayConfig{Upstream: &route.Upstream{Name: "all", URL: to}, StallTimeout: time.Minute}
	if c.Base, err = policy.Parse("hops.yaml", []byte("policies: {all: fixed-window 1000/1d}\nroutes: [{key: [{const: a}], policies: [all]}]")); err != nil {
		return nil, err
	}
	d, err := started(ctx, c)
	if err != nil {
		return nil, err
	}
	address := "http://" + d.HTTPAddr().String()
	return func() error {
		r, err := http.Get(address) //nolint:noctx // it ends with the process
		if err != nil {
			return err
		}
		defer func() { _ = r.Body.Close() }()
		if _, err = io.Copy(io.Discard, r.Body); err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("answered %s", r.Status)
		}
		return err
	}, nil
}
