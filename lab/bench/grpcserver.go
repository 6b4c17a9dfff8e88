package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/layer/prefetch"
	openstore "github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

// emptyServer sends an empty response to every request, without a decision.
type emptyServer struct {
	pb.UnimplementedRateLimitServiceServer
}

func (emptyServer) ShouldRateLimit(context.Context, *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	return &pb.RateLimitResponse{}, nil
}

// serveEmpty runs the empty server with grpc-go's default settings, and prints its address.
func serveEmpty(ctx context.Context) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(s, emptyServer{})
	context.AfterFunc(ctx, s.Stop)
	fmt.Fprintf(os.Stdout, "grpc listening on %s\n", l.Addr())
	_ = s.Serve(l)
}

// startEmpty starts the empty server in a separate process.
func startEmpty(ctx context.Context) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startPrinting(exec.CommandContext(ctx, self, "-empty-grpc"))
}

// startEnvoy starts bin/headgate with a configuration for Envoy. If profiles are taken, the server runs in this process
// instead.
func startEnvoy(ctx context.Context, store, root string, s settings) (*server, error) {
	dir := filepath.Join(root, "config")
	if s.profiles == nil {
		return startPrinting(exec.CommandContext(ctx, "../../bin/headgate", "serve", "--resp", "off", "--http", "off", "--store", store,
			"--envoy-config", dir, "--grpc", "127.0.0.1:0", "--grpc-deadline", "1s", "--log-level", "warn"))
	}
	return inside(ctx, daemon.Config{
		RESP: daemon.Off, HTTP: daemon.Off, Store: store,
		GRPC: daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: dir, Deadline: time.Second},
	}, (*daemon.Daemon).GRPCAddr)
}

// prefetching holds the command line's default settings for prefetched units.
var prefetching = openstore.Options{Prefetch: prefetch.Config{Life: time.Second, MaxUnits: 10_000}}

// startRival starts envoyproxy/ratelimit on a Redis and waits until it responds.
func startRival(ctx context.Context, redis, root string) (*server, error) {
	ports := make([]string, 3)
	for i := range ports {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[i] = strconv.Itoa(port)
	}
	s := &server{address: "127.0.0.1:" + ports[0], command: exec.CommandContext(ctx, "../../bin/tools/ratelimit")}
	s.command.Env = []string{
		"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1", "GRPC_PORT=" + ports[0], "PORT=" + ports[1], "DEBUG_PORT=" + ports[2],
		"USE_STATSD=false", "LOG_LEVEL=error", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + redis, "RUNTIME_ROOT=" + root, "RUNTIME_WATCH_ROOT=false",
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("bin/tools/ratelimit (make bench builds it): %w", err)
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.stop()
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	for range 200 {
		if _, err = pb.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, &pb.RateLimitRequest{Domain: "bench"}); err != nil && strings.Contains(err.Error(), "must not be empty") {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("bin/tools/ratelimit does not answer: %w", err)
}

// cpu returns the CPU time that the server's process has used, with a resolution of 10 ms. For a server in this
// process, it returns the process's own time. It returns 0 if the system does not report the time.
func (s *server) cpu() time.Duration {
	pid := os.Getpid()
	if s.command != nil {
		pid = s.command.Process.Pid
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(data), ") ") // the name before that may contain spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
