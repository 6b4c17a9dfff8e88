// Package daemon is the whole server: a store, the service on it, and the front ends. New
// opens the store and the listeners, so that an invalid configuration is an error before
// the server accepts a connection. Run serves until its context ends.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/gateway"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/keyhash"
	"github.com/headgate/headgate/server/policies"
	"github.com/headgate/headgate/server/resp"
	"github.com/headgate/headgate/server/respapi"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/tracing"
)

// Off is the address of a front end that does not listen.
const Off = "off"

// maxConns bounds the connections of each front end. RESP rejects more with an error; HTTP
// lets them wait in the accept queue.
const maxConns = 10_000

// shutdownTimeout is how long, after the drain, the server waits for requests that it has
// read.
const shutdownTimeout = 10 * time.Second

// Config configures a Daemon.
type Config struct {
	// RESP and HTTP are the addresses to listen on, or Off.
	RESP, HTTP string
	// TLS has the certificates of the listeners.
	TLS TLS
	// Users has the files with the users of the listeners.
	Users UsersFiles
	// NoInline refuses limits that come with a request.
	NoInline bool
	// ConfigFile is the path of the policies file, and Base its content; "" and nil are
	// none. The file is read again when it changes, and by Reload.
	ConfigFile string
	Base       *policy.Config
	// StateFile keeps changes of policies that are made while the server runs; "" keeps
	// them on Redis, or for the life of the process.
	StateFile string
	// Failure is the failure mode of inline limits.
	Failure policy.Failure
	// AllowWrites lets clients give units back and reset keys.
	AllowWrites bool
	// Store is the URL of the store; "" and "memory" are the memory of this process.
	Store string
	// StoreOptions are the settings of the store that are not in the URL.
	StoreOptions open.Options
	// Deadline bounds each decision of a store that is not in memory; 0 is no bound.
	// If the caller's context leaves less time, the bound is three quarters of that.
	Deadline time.Duration
	// ReadyWithoutStore keeps the server ready when the store does not answer.
	ReadyWithoutStore bool
	// Drain is how long the server still accepts requests after readiness has ended:
	// the time that a load balancer needs to notice.
	Drain time.Duration
	// GRPC is Envoy's rate limit service.
	GRPC GRPC
	// Gateway makes the HTTP listener a gateway; nil is the HTTP API.
	Gateway *GatewayConfig
	// Admin is the listener for operators.
	Admin AdminConfig
	// HashKeysFile has the secrets that keys are hashed with before they reach the store,
	// the log, metrics and traces; "" leaves keys as they are.
	HashKeysFile string
	// Traces sends spans to a collector; without an endpoint nothing is traced.
	Traces tracing.Config
	// TraceKeys shows keys in spans, as the log shows them.
	TraceKeys bool
	// Version is in INFO and in the log.
	Version string
	// LogDenied is how many denied requests are logged in a second, up to MaxLogDenied.
	// LogKeys logs their keys whole, instead of at most half of each and 8 bytes. It holds
	// for TraceKeys too.
	LogDenied int
	LogKeys   bool
	// Logger gets the log of the server.
	Logger *slog.Logger
}

// Daemon is a server with open listeners.
type Daemon struct {
	config   Config
	store    open.Opened
	limiter  *headgate.Limiter
	service  *service.Service
	policies *policies.Manager
	outage   *outage
	hashKeys *keyhash.File // nil if keys are not hashed
	users    guarded
	traces   *tracing.Tracer // nil if nothing is traced

	resp         *resp.Server
	http         *http.Server
	grpc         *grpcFrontEnd    // nil if there is no configuration for it
	gateway      *gateway.Gateway // nil if HTTP is the API
	admin        *adminFrontEnd   // nil if it is off
	respListener net.Listener
	httpListener net.Listener
	// floor is heapFloor bytes that are never read or written.
	floor []byte
}

// heapFloor is how much the garbage collector believes to be in use at least. A call of HTTP
// or gRPC leaves 2 to 4 KiB behind, and the limits of a server can be a few MiB: without a
// floor the collector would run dozens of times a second. The memory is not resident: no
// page of it is touched.
const heapFloor = 32 << 20

// New opens the store and the listeners. Run closes them.
func New(ctx context.Context, c Config) (_ *Daemon, err error) {
	operators, err := openAdmin(&c)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			operators.close()
		}
	}()
	hashKeys, err := openHashKeys(&c)
	if err != nil {
		return nil, err
	}
	traces, err := openTraces(ctx, &c)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && traces != nil {
			_ = traces.Close(ctx) // it has no spans
		}
	}()
	remote := c.Store != "" && c.Store != open.Memory
	if c.StoreOptions.Prefetch.Life != 0 && c.StoreOptions.Prefetch.Spaces == nil {
		// No policy is leased yet; one can be later.
		c.StoreOptions.Prefetch.Spaces = map[string][]engine.Limit{}
	}
	opened, err := open.Store(ctx, c.Store, c.StoreOptions)
	if err != nil {
		return nil, err
	}
	for _, warning := range opened.Warnings {
		c.Logger.Warn("store", "warning", warning)
	}
	if !remote {
		c.Deadline = 0
	}
	d := &Daemon{floor: make([]byte, heapFloor), config: c, store: opened, limiter: headgate.New(headgate.WithStore(opened)), admin: operators, outage: &outage{logger: c.Logger}, traces: traces, hashKeys: hashKeys}
	if err := d.openUsers(); err != nil {
		return nil, errors.Join(err, d.closeStore())
	}
	var cause func() error
	if opened.Fallback != nil {
		cause = opened.Fallback.Cause
	}
	d.service = service.New(service.Config{
		Limiter: d.limiter, Failure: c.Failure, Users: len(d.users.files) > 0, NoInline: c.NoInline, AllowWrites: c.AllowWrites, Deadline: c.Deadline,
		OpsFailure: c.GRPC.failure(), HashKeys: hashKeys, CheckStore: remote && !c.ReadyWithoutStore, Watcher: d.outage, Observer: operators.observer(&c, d.traces),
		Secret: secretIn(opened), Cause: cause,
	})
	if err := d.loadPolicies(ctx); err != nil {
		return nil, errors.Join(err, d.closeStore())
	}
	d.resp, err = resp.New(resp.Config{
		Decisions: respapi.Commands(), Decide: d.service.For(service.RESP), Users: d.users.resp, MaxConns: maxConns, Version: c.Version, Logger: c.Logger,
	})
	if err != nil {
		return nil, errors.Join(err, d.closeStore())
	}
	d.http = newHTTP(httpapi.New(d.service), c.Logger)
	if err = errors.Join(d.openGateway(), d.openGRPC(), d.listen(), operators.start(d)); err == nil {
		d.http.Handler = guardHTTP(d.users.http, d.http.Handler)
		d.trace()
		operators.count(d)
		err = d.secure()
	}
	if err != nil {
		d.closeListeners()
		d.closeGateway()
		d.grpc.close()
		return nil, errors.Join(err, d.closeStore())
	}
	return d, nil
}

// newHTTP returns the server of HTTP, with its bounds.
func newHTTP(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// listen opens the listeners.
func (d *Daemon) listen() (err error) {
	if d.config.RESP == Off && d.config.HTTP == Off && d.GRPCAddr() == nil {
		return errors.New("resp and http are both off; at least one must listen")
	}
	if d.config.RESP != Off {
		if d.respListener, err = net.Listen("tcp", d.config.RESP); err != nil {
			return fmt.Errorf("resp: %w", err)
		}
	}
	if d.config.HTTP != Off {
		if d.httpListener, err = net.Listen("tcp", d.config.HTTP); err != nil {
			return fmt.Errorf("http: %w", err)
		}
		d.httpListener = d.listenGateway(netutil.LimitListener(d.httpListener, maxConns))
	}
	return nil
}

func (d *Daemon) closeListeners() {
	for _, l := range []net.Listener{d.respListener, d.httpListener} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// RESPAddr returns the address that RESP listens on; nil if it is off.
func (d *Daemon) RESPAddr() net.Addr { return addr(d.respListener) }

// HTTPAddr returns the address that HTTP listens on; nil if it is off.
func (d *Daemon) HTTPAddr() net.Addr { return addr(d.httpListener) }

func addr(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// address returns the address of a listener for the log.
func address(l net.Listener) string {
	if l == nil {
		return Off
	}
	return l.Addr().String()
}

// Run serves until ctx ends, and then drains. Readiness ends at once. After Config.Drain,
// or when stopNow ends, the server accepts no more connections, answers the requests that
// it has read, and closes the store. Run returns nil after a drain, and otherwise the
// error of the listener that failed.
func (d *Daemon) Run(ctx, stopNow context.Context) error {
	defer runtime.KeepAlive(d.floor)
	failed := make(chan error, 4)
	serving := 0
	serve := func(l net.Listener, serve func(net.Listener) error) {
		if l == nil {
			return
		}
		serving++
		go func() { failed <- serve(l) }()
	}
	d.config.Logger.Info("serving", "version", d.config.Version, "resp", address(d.respListener), "http", address(d.httpListener),
		"store", open.Redacted(d.config.Store), "admin", address(d.admin.open()))
	serve(d.respListener, d.resp.Serve)
	serve(d.httpListener, d.http.Serve)
	serve(d.grpc.open(), d.grpc.serve)
	serve(d.admin.open(), d.admin.serve)
	d.grpc.follow(d.config.Logger)
	following, stopFollowing := context.WithCancel(context.Background())
	defer stopFollowing()
	followed := make(chan error, 1)
	go func() { followed <- d.policies.Run(following) }()
	var followedFiles sync.WaitGroup
	followedFiles.Go(func() { d.followHashKeys(following) })
	for name := range d.users.files {
		followedFiles.Go(func() { d.followFile(following, name, func() error { return d.reloadUsersOf(name) }) })
	}

	var err error
	select {
	case err = <-failed:
		serving--
	case err = <-followed:
		followed <- nil
	case <-ctx.Done():
		d.service.Drain()
		d.grpc.drain()
		d.config.Logger.Info("draining", "for", d.config.Drain)
		wait(stopNow, d.config.Drain)
	}
	stopFollowing()
	err = errors.Join(err, <-followed)
	followedFiles.Wait()
	d.stop()
	for range serving {
		err = errors.Join(err, ignoreClosed(<-failed))
	}
	return err
}

// ignoreClosed drops the error of a listener that stop has closed.
func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (d *Daemon) closeStore() error { return errors.Join(d.limiter.Close(), d.store.Close()) }

// stop stops the front ends, and then closes the store that they use.
func (d *Daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	stopped := make(chan error, 3)
	go func() { stopped <- d.admin.stop(ctx) }()
	go func() { stopped <- d.resp.Shutdown(ctx) }()
	go func() { stopped <- d.grpc.stop(ctx) }()
	err := errors.Join(d.http.Shutdown(ctx), <-stopped, <-stopped, <-stopped)
	if err != nil {
		err = errors.Join(err, d.http.Close())
	}
	d.closeGateway()
	d.closeTraces()
	if err = errors.Join(err, d.closeStore()); err != nil {
		d.config.Logger.Warn("stopped", "error", err)
		return
	}
	d.config.Logger.Info("stopped")
}

// wait waits for d, or until stopNow ends.
func wait(stopNow context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stopNow.Done():
	case <-timer.C:
	}
}
