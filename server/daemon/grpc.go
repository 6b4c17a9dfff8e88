package daemon

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/grpcapi"
	"github.com/headgate/headgate/server/internal/service"
)

// GRPC configures the services for Envoy: external authorization with the routes, and the rate limit service.
type GRPC struct {
	// Address is the address to listen on, unix:/path for a socket, or Off. "" means Off.
	Address string
	// EnvoyConfig is the directory with the configuration of the rate limit service. If it is "", this service is disabled.
	EnvoyConfig string
	// Force starts the server even if the configuration has an error.
	Force   bool
	Options envoy.Options
	// Deadline bounds each decision that uses a store outside this process; 0 means no bound.
	Deadline time.Duration
	// MaxAge and MaxAgeGrace are described in [grpcapi.Config].
	MaxAge, MaxAgeGrace time.Duration
}

// grpcFrontEnd is the running gRPC server for Envoy. It is nil if disabled. The methods of a nil grpcFrontEnd do
// nothing.
type grpcFrontEnd struct {
	server   *grpcapi.Server
	service  *envoy.Service // nil without the rate limit service
	listener net.Listener
}

// openGRPC opens the listener for external authorization with the routes and, if configured, for the rate limit
// service.
func (d *Daemon) openGRPC() (err error) {
	c := &d.config.GRPC
	listens := c.Address != Off && c.Address != ""
	if c.EnvoyConfig == "" && !listens {
		return nil
	}
	if d.config.Store == "" || d.config.Store == "memory" {
		c.Deadline = 0
	}
	f := &grpcFrontEnd{}
	if listens {
		if f.listener, err = listenGRPC(c.Address); err != nil {
			return err
		}
		f.listener = bound(f.listener, "grpc", d.conns, d.peerRule(), d.config.Logger)
	}
	if c.EnvoyConfig != "" {
		if err := d.openEnvoy(f); err != nil {
			f.closeListener()
			return err
		}
	}
	f.server = grpcapi.New(grpcapi.Config{
		Service: f.service, NoInline: d.config.NoInline, Users: d.users.grpc, WrongSecret: d.secrets.in(service.GRPC), Peers: d.peerRule(), Authorize: d.service, Deadline: c.Deadline,
		Refused: func(why service.Refusal) { d.service.Refused(service.GRPC, why) }, MaxAge: c.MaxAge, MaxAgeGrace: c.MaxAgeGrace, Interceptors: d.interceptors(),
	})
	d.grpc = f
	d.setServing()
	return nil
}

// setServing reports over gRPC whether the server should get requests.
func (d *Daemon) setServing() {
	if f := d.grpc; f != nil {
		f.server.SetServing((f.service == nil || f.service.Ready() == nil) && d.refused() == nil)
	}
}

// refused returns the error of a store that has refused every call so far.
func (d *Daemon) refused() error {
	if d.store.Redis == nil {
		return nil
	}
	return d.store.Redis.Refused()
}

// openEnvoy loads the configuration of the rate limit service, and adds its HTTP paths.
func (d *Daemon) openEnvoy(f *grpcFrontEnd) error {
	c := &d.config.GRPC
	c.Options.HashKeys = d.hashKeys
	c.Options.SetPolicies = func(external []policy.External) { d.policies.SetExternal(context.Background(), external) }
	f.service = envoy.New(c.Options, func(ctx context.Context, requests []decide.Request, responses []decide.Response) {
		d.service.DoWithin(ctx, c.Deadline, service.GRPC, requests, responses)
	})
	directory, err := envoy.Open(f.service, c.EnvoyConfig, c.Force, d.config.Logger)
	if err != nil {
		return err
	}
	d.follow(d.logged("envoy-config", func() (bool, error) {
		changed, err := directory.Reload()
		d.setServing()
		d.admin.rejected(err)
		return changed, err
	}), c.EnvoyConfig)
	d.http.Handler = grpcapi.Paths(f.service, d.service.Ready, d.config.NoInline, d.config.AllowWrites, func(why service.Refusal) { d.service.Refused(service.HTTP, why) }, d.http.Handler)
	return nil
}

// listenGRPC listens on a TCP address or a Unix socket.
func listenGRPC(address string) (net.Listener, error) {
	l, err := listenOn("grpc", address)
	if path, socket := strings.CutPrefix(address, "unix:"); err != nil && socket && unused(path) {
		_ = os.Remove(path) // left over from a server that was killed
		l, err = listenOn("grpc", address)
	}
	return l, err
}

// unused reports whether a path is a socket that no process listens on.
func unused(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

// logServing logs what the front end serves.
func (f *grpcFrontEnd) logServing(logger *slog.Logger) {
	switch {
	case f == nil:
	case f.service == nil:
		logger.Info("serving Envoy's external authorization", "grpc", address(f.listener))
	default:
		logger.Info("serving Envoy's rate limit service", "grpc", address(f.listener))
	}
}

func (f *grpcFrontEnd) serve(l net.Listener) error { return f.server.Serve(l) }

// open returns the listener. It returns nil if none exists.
func (f *grpcFrontEnd) open() net.Listener {
	if f == nil {
		return nil
	}
	return f.listener
}

func (f *grpcFrontEnd) drain() {
	if f != nil {
		f.server.Drain()
	}
}

// stop sends GOAWAY and waits for calls in flight until ctx ends.
func (f *grpcFrontEnd) stop(ctx context.Context) error {
	if f == nil {
		return nil
	}
	return f.server.Shutdown(ctx)
}

func (f *grpcFrontEnd) closeListener() {
	if f != nil && f.listener != nil {
		_ = f.listener.Close()
	}
}

// close releases the resources of a daemon that never ran.
func (f *grpcFrontEnd) close() {
	if f == nil {
		return
	}
	f.closeListener()
	_ = f.server.Shutdown(context.Background()) // returns at once, because there are no connections
}

// GRPCAddr returns the gRPC listen address. It returns nil if there is no listener.
func (d *Daemon) GRPCAddr() net.Addr { return addr(d.grpc.open()) }

// counts returns the function for [admin.Config.Counts]. It returns nil without the rate limit service.
func (d *Daemon) counts() func(policy, space, key string) bool {
	if d.grpc == nil || d.grpc.service == nil {
		return nil
	}
	return d.grpc.service.Counts
}

// EnvoyStats returns the statistics of Envoy's rate limit service. They are zero without this service.
func (d *Daemon) EnvoyStats() envoy.Stats {
	if d.grpc == nil || d.grpc.service == nil {
		return envoy.Stats{}
	}
	return d.grpc.service.Stats()
}
