package daemon_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/server/daemon"
)

// envoyDirectory writes a configuration for Envoy's rate limit service.
func envoyDirectory(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const envoyFile = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 2}}]"

func envoyRequest() *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
		{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "a", Value: "1"}}},
	}}
}

// TestGRPCDrains checks that gRPC works on a socket left over from a killed server, that during the drain its health
// is NOT_SERVING while requests are still answered, and that Run returns nil afterwards.
func TestGRPCDrains(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	d := start(t, daemon.Config{
		RESP: daemon.Off, HTTP: "127.0.0.1:0", Drain: time.Hour,
		GRPC: daemon.GRPC{Address: "unix:" + socket, EnvoyConfig: envoyDirectory(t, envoyFile)},
	})
	ctx, stop := context.WithCancel(context.Background())
	stopNow, endDrain := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, stopNow) }()
	c, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	client, health := pb.NewRateLimitServiceClient(c), healthpb.NewHealthClient(c)
	want := func(code pb.RateLimitResponse_Code, status healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if r, err := client.ShouldRateLimit(t.Context(), envoyRequest()); err != nil || r.OverallCode != code {
			t.Errorf("%v, %v, want %v", r, err, code)
		}
		if r, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "ratelimit"}); err != nil || r.Status != status {
			t.Errorf("%v, %v, want %v", r, err, status)
		}
	}
	want(pb.RateLimitResponse_OK, healthpb.HealthCheckResponse_SERVING)
	stop()
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		r, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err == nil && r.Status == healthpb.HealthCheckResponse_NOT_SERVING {
			break
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("health in the drain: %v, %v", r, err)
		}
	}
	want(pb.RateLimitResponse_OK, healthpb.HealthCheckResponse_NOT_SERVING)
	r, err := http.Get("http://" + d.HTTPAddr().String() + "/healthcheck")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if r.StatusCode != http.StatusInternalServerError {
		t.Errorf("/healthcheck in the drain: %d", r.StatusCode)
	}
	if s := d.EnvoyStats(); len(s.Rules) != 2 || s.Rules[0].TotalHits != 2 {
		t.Errorf("%+v", s)
	}
	endDrain()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestGRPCErrors checks that New returns an error for an unusable address or directory, and leaves nothing running.
func TestGRPCErrors(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	good := envoyDirectory(t, envoyFile)
	for _, c := range []struct {
		grpc daemon.GRPC
		want string
	}{
		{daemon.GRPC{Address: "nonsense", EnvoyConfig: good}, "--grpc nonsense: listen tcp: address nonsense: missing port in address"},
		{daemon.GRPC{Address: "unix:" + socket, EnvoyConfig: good}, "address already in use"},
		{daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: good + "/absent"}, "no such file or directory"},
		{daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: envoyDirectory(t, "descriptors:")}, "d.yaml:1:1: config file cannot have empty domain"},
	} {
		_, err := daemon.New(context.Background(), daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Logger: quiet, GRPC: c.grpc})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// The HTTP listener fails, so the gRPC listener must be closed.
	_, err = daemon.New(context.Background(), daemon.Config{RESP: daemon.Off, HTTP: "nonsense", Logger: quiet, GRPC: daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: good}})
	if err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
