// Package daemon is the server as a whole: a store, the service on it, and the
// front ends that listen. New opens what it needs, so that a mistake is an
// error before anything is served; Run serves until its context ends.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/policy"
	"github.com/headgate/headgate/server/resp"
	"github.com/headgate/headgate/server/respapi"
	"github.com/headgate/headgate/server/service"
)

// Off is the address of a front end that is not wanted.
const Off = "off"

// maxConns bounds the connections of each front end. RESP refuses more with an
// error; HTTP lets them wait to be accepted.
const maxConns = 10_000

// finish is how long connections have, after the drain, to be answered.
const finish = 10 * time.Second

// Config says what to serve.
type Config struct {
	// RESP and HTTP are the addresses to listen on, or Off.
	RESP, HTTP string
	// Policies are the named limits; nil has none.
	Policies *policy.Set
	// Failure is what inline limits answer when the decision is not known.
	Failure policy.Failure
	// AllowWrites lets clients give units back and reset keys.
	AllowWrites bool
	// Store is the URL of the store; "" and "memory" are this process's memory.
	Store string
	// StoreOptions say what the URL does not.
	StoreOptions open.Options
	// Deadline bounds each decision where the store is not in memory; 0 is
	// none. A caller who leaves less has three quarters of that.
	Deadline time.Duration
	// ReadyWithoutStore leaves the server ready while the store is away.
	ReadyWithoutStore bool
	// Drain is how long the server stays up after it has reported itself not
	// ready: the time a load balancer needs to notice.
	Drain time.Duration
	// Version is told to clients that ask, and logged at start.
	Version string
	// Logger is where the server speaks.
	Logger *slog.Logger
}

// Daemon is a server whose listeners are open.
type Daemon struct {
	config  Config
	store   engine.Store
	limiter *headgate.Limiter
	service *service.Service

	resp         *resp.Server
	http         *http.Server
	respListener net.Listener
	httpListener net.Listener
}

// New opens the store and the listeners.
func New(ctx context.Context, c Config) (*Daemon, error) {
	opened, err := open.Store(ctx, c.Store, c.StoreOptions)
	if err != nil {
		return nil, err
	}
	for _, warning := range opened.Warnings {
		c.Logger.Warn("store", "warning", warning)
	}
	remote := c.Store != "" && c.Store != open.Memory
	if !remote {
		c.Deadline = 0
	}
	d := &Daemon{config: c, store: opened, limiter: headgate.New(headgate.WithStore(opened))}
	d.service = service.New(service.Config{
		Limiter: d.limiter, Policies: c.Policies, Failure: c.Failure, AllowWrites: c.AllowWrites, Deadline: c.Deadline,
		CheckStore: remote && !c.ReadyWithoutStore, Watcher: &outage{logger: c.Logger},
	})
	d.resp, err = resp.New(resp.Config{
		Decisions: respapi.Commands(), Decide: d.service.Do, MaxConns: maxConns, Version: c.Version, Logger: c.Logger,
	})
	if err != nil {
		return nil, errors.Join(err, d.closeStore())
	}
	d.http = &http.Server{
		Handler: httpapi.New(d.service), ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	if err := d.listen(); err != nil {
		d.closeListeners()
		return nil, errors.Join(err, d.closeStore())
	}
	return d, nil
}

func (d *Daemon) listen() (err error) {
	if d.config.RESP == Off && d.config.HTTP == Off {
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
		d.httpListener = netutil.LimitListener(d.httpListener, maxConns)
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

// RESPAddr returns the address that RESP listens on, nil where it is off.
func (d *Daemon) RESPAddr() net.Addr { return addr(d.respListener) }

// HTTPAddr returns the address that HTTP listens on, nil where it is off.
func (d *Daemon) HTTPAddr() net.Addr { return addr(d.httpListener) }

func addr(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// address names a listener in the log.
func address(l net.Listener) string {
	if l == nil {
		return Off
	}
	return l.Addr().String()
}

// Run serves until ctx ends, and then drains: readiness falls at once; after
// Config.Drain, or when hurry ends, nothing more is accepted, what was read is
// answered, and the store is closed. It returns nil after a drain, and the
// first error of a listener that fails on its own.
func (d *Daemon) Run(ctx, hurry context.Context) error {
	failed := make(chan error, 2)
	serving := 0
	serve := func(l net.Listener, serve func(net.Listener) error) {
		if l == nil {
			return
		}
		serving++
		go func() { failed <- serve(l) }()
	}
	d.config.Logger.Info("serving", "version", d.config.Version, "resp", address(d.respListener), "http", address(d.httpListener),
		"store", open.Redacted(d.config.Store))
	serve(d.respListener, d.resp.Serve)
	serve(d.httpListener, d.http.Serve)

	var err error
	select {
	case err = <-failed:
		serving--
	case <-ctx.Done():
		d.service.Drain()
		d.config.Logger.Info("draining", "for", d.config.Drain)
		wait(hurry, d.config.Drain)
	}
	d.stop()
	for range serving {
		err = errors.Join(err, ended(<-failed))
	}
	return err
}

// ended drops what listeners answer when they are closed on purpose.
func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (d *Daemon) closeStore() error { return errors.Join(d.limiter.Close(), d.store.Close()) }

// stop ends the front ends, then the store under them.
func (d *Daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), finish)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- d.resp.Shutdown(ctx) }()
	err := errors.Join(d.http.Shutdown(ctx), <-stopped)
	if err != nil {
		err = errors.Join(err, d.http.Close())
	}
	if err = errors.Join(err, d.closeStore()); err != nil {
		d.config.Logger.Warn("stopped", "error", err)
		return
	}
	d.config.Logger.Info("stopped")
}

func wait(hurry context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-hurry.Done():
	case <-timer.C:
	}
}
