package envoy

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

// tools is the directory of the module that pins envoyproxy/ratelimit's version.
const tools = "../../tools/ratelimit"

// patience is how long a server may take to start.
const patience = 30 * time.Second

// peer is a running server under comparison.
type peer struct {
	name   string
	http   string // its HTTP address
	admin  string // the address of Headgate's admin listener, if it has one
	client pb.RateLimitServiceClient
	// forget deletes all counters.
	forget func()
}

// binary returns the path of envoyproxy/ratelimit's server.
func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/tools/ratelimit")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		if os.Getenv("HEADGATE_NEED_SERVERS") != "" {
			t.Fatal("bin/tools/ratelimit is not built: make test builds it")
		}
		t.Skip("*** bin/tools/ratelimit is not built: NOT TESTED (make bin/tools/ratelimit) ***")
	}
	return path
}

// module returns the source directory of envoyproxy/ratelimit, which contains the examples.
func module(t *testing.T) string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/ratelimit")
	command.Dir, command.Env = tools, append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", tools, err)
	}
	return strings.TrimSpace(string(out))
}

func freePort(t *testing.T) string { return strconv.Itoa(programs.FreePort(t)) }

// startUpstream starts envoyproxy/ratelimit on its own Redis, with the files in root/config.
func startUpstream(t *testing.T, root string, environment ...string) *peer {
	t.Helper()
	redis := redistest.Standalone(t, redistest.Redis)
	http, port := freePort(t), freePort(t)
	command := exec.Command(binary(t))
	command.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOST=127.0.0.1", "PORT=" + http, "GRPC_HOST=127.0.0.1", "GRPC_PORT=" + port, "DEBUG_HOST=127.0.0.1", "DEBUG_PORT=" + freePort(t),
		"USE_STATSD=false", "LOG_LEVEL=fatal", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + redis.Addr(),
		"RUNTIME_ROOT=" + root, "RUNTIME_WATCH_ROOT=false",
	}, environment...)
	var said strings.Builder
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	p := &peer{name: "envoyproxy/ratelimit", http: "127.0.0.1:" + http, forget: func() { redis.MustDo("FLUSHALL") }}
	p.connect(t, "127.0.0.1:"+port)
	deadline := time.Now().Add(patience)
	for {
		_, err := p.client.ShouldRateLimit(context.Background(), request("absent", descriptor("a", "b")))
		if err == nil {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("envoyproxy/ratelimit does not answer: %v\n%s", err, said.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// startOurs starts Headgate in this process, in memory or on its own Redis.
func startOurs(t *testing.T, directory string, onRedis bool, set func(*daemon.Config)) *peer {
	t.Helper()
	var redis *redistest.Server
	if onRedis {
		redis = redistest.Standalone(t, redistest.Redis)
	}
	return startOursOn(t, directory, redis, set, 5*time.Second)
}

// startOursOn starts Headgate on a Redis, or in memory if redis is nil.
func startOursOn(t *testing.T, directory string, redis *redistest.Server, set func(*daemon.Config), deadline time.Duration) *peer {
	t.Helper()
	p := &peer{name: "headgate in memory"}
	c := daemon.Config{
		RESP: daemon.Off, HTTP: "127.0.0.1:0", Store: "memory", StoreOptions: open.Options{Prefetch: prefetch.Config{Life: time.Second, MaxUnits: 10_000}}, Logger: slog.New(slog.DiscardHandler),
		GRPC: daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: directory, Deadline: deadline},
	}
	if set != nil {
		set(&c)
	}
	var stop func()
	start := func() {
		ctx, cancel := context.WithCancel(context.Background())
		d, err := daemon.New(ctx, c)
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx, ctx) }()
		stop = func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		p.http = d.HTTPAddr().String()
		if a := d.AdminAddr(); a != nil {
			p.admin = a.String()
		}
		p.connect(t, d.GRPCAddr().String())
	}
	p.forget = func() { stop(); start() }
	if redis != nil {
		p.name, c.Store = "headgate on Redis", "redis://"+redis.Addr()
		p.forget = func() { stop(); redis.MustDo("FLUSHALL"); start() }
	}
	start()
	t.Cleanup(func() { stop() })
	return p
}

func (p *peer) connect(t *testing.T, address string) {
	t.Helper()
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	p.client = pb.NewRateLimitServiceClient(c)
}
