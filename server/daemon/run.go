package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/open"
)

// shutdownTimeout is how long the server waits, after the drain, for requests that it has already read.
const shutdownTimeout = 10 * time.Second

// Run serves until ctx ends, and then drains: the server stops being ready immediately, but continues to serve. After
// Config.Drain, or when stopNow ends, it accepts no more connections, answers the requests that it has already read,
// and closes the store. After a drain, Run returns nil. If a listener fails, Run returns its error.
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
	d.grpc.logServing(d.config.Logger)
	following, stopFollowing := context.WithCancel(context.Background())
	defer stopFollowing()
	var followers sync.WaitGroup
	d.followFiles(following, &followers)
	followers.Go(func() { d.policies.Run(following) })
	followers.Go(func() { d.keepSnapshots(following) })
	followers.Go(func() { d.checkLater(following) })
	followers.Go(func() { d.followLosses(following) })
	followers.Go(func() { d.keepSecret(following) })

	var err error
	select {
	case err = <-failed:
		serving--
	case <-ctx.Done():
		d.service.Drain()
		d.grpc.drain()
		d.config.Logger.Info("draining", "for_ms", format.Millis(d.config.Drain))
		wait(stopNow, d.config.Drain)
	}
	stopFollowing()
	followers.Wait()
	d.stop()
	for range serving {
		err = errors.Join(err, ignoreClosed(<-failed))
	}
	return err
}

// ignoreClosed drops the error of a listener that was closed by stop.
func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

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
	defer d.unlock()
	if err = errors.Join(err, d.saveSnapshot(context.WithoutCancel(ctx)), d.closeStore()); err != nil {
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
