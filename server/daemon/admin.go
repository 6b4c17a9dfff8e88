package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/internal/admin"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/audit"
	"github.com/headgate/headgate/server/internal/feed"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/page"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/shadows"
	"github.com/headgate/headgate/server/internal/topkeys"
	"github.com/headgate/headgate/server/internal/tracing"
)

// maxAdminConns is the maximum number of connections to the admin listener. One peer has a share of it, idle connections
// make room, and further ones wait.
const maxAdminConns = 100

// AdminConfig configures the operators' listener. Without the listener, the server collects no metrics.
type AdminConfig struct {
	// Address is the address to listen on, or Off. "" means Off.
	Address string
	// TokenFile lists the operators. It is a file with users or with tokens. If it is "", every caller has
	// all rights, and the address must be a loopback address.
	TokenFile string
	// Hosts lists additional names of this server. Its address and localhost are always accepted.
	Hosts []string
	// EnvoyMetrics adds the names of envoyproxy/ratelimit to the metrics.
	EnvoyMetrics bool
	// AuditSample is the audit's sample rate: one key in AuditSample is audited, up to [audit.MaxSample]. 0 disables
	// the audit.
	AuditSample int
	// Settings is the configuration that operators see, without secrets.
	Settings any
}

// adminFrontEnd is the running admin listener with its counters. It is nil in a daemon without the listener. The
// methods of a nil adminFrontEnd do nothing.
type adminFrontEnd struct {
	metrics  *metrics.Metrics
	top      *topkeys.Tracker
	shadows  *shadows.Tracker
	auditor  *audit.Auditor // nil if nothing is audited
	server   *http.Server
	feed     *feed.Feed // nil until start
	listener net.Listener
}

// openAdmin opens the listener. It returns nil if the listener is off. It runs before the store is opened, so that
// calls to the store are counted.
func openAdmin(c *Config) (*adminFrontEnd, error) {
	a := &c.Admin
	if a.Address == "" || a.Address == Off {
		if a.EnvoyMetrics {
			return nil, errors.New("envoy-metrics without admin: accepted: the address of the admin listener, which shows them")
		}
		if a.AuditSample != 0 {
			return nil, errors.New("audit-sample without admin: accepted: the address of the admin listener, whose metrics have the figures")
		}
		return nil, nil //nolint:nilnil // a daemon without the listener
	}
	if err := admin.CheckAddress(a.Address, a.TokenFile != ""); err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	if a.AuditSample < 0 || a.AuditSample > audit.MaxSample {
		return nil, fmt.Errorf("audit-sample %d: accepted: 0 to %d", a.AuditSample, audit.MaxSample)
	}
	l, err := listenOn("admin", a.Address)
	if err != nil {
		return nil, err
	}
	f := &adminFrontEnd{metrics: metrics.New(c.Version), top: topkeys.New(), shadows: shadows.New(time.Now), listener: l}
	if a.AuditSample > 0 {
		if f.auditor, err = audit.New(a.AuditSample); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	c.StoreOptions.Wrap, c.StoreOptions.Batch.Observe = f.metrics.Wrap, f.metrics.Called
	return f, nil
}

// observer returns the observer of decisions. It returns nil if nothing observes them.
func (f *adminFrontEnd) observer(c *Config, traces *tracing.Tracer) service.Observer {
	var all observers
	if f != nil {
		all = observers{f.metrics, f.top, f.shadows}
		if f.auditor != nil {
			all = append(all, f.auditor)
		}
	}
	if c.LogDenied > 0 {
		all = append(all, &denials{logger: c.Logger, lines: lograte.Limit{Lines: c.LogDenied, Per: time.Second}, show: c.shownKey()})
	}
	if traces != nil {
		all = append(all, traces)
	}
	if all == nil {
		return nil
	}
	return all
}

// observers calls each observer in turn.
type observers []service.Observer

// Observe implements [service.Observer].
func (all observers) Observe(o *service.Observed) {
	for _, each := range all {
		each.Observe(o)
	}
}

// file returns the function that records in the metrics whether a file has errors. See [metrics.Metrics.File].
func (f *adminFrontEnd) file(what string) (read func(err error)) {
	if f == nil {
		return func(error) {}
	}
	return f.metrics.File(what)
}

// rejected counts policies that were not activated because of an error.
func (f *adminFrontEnd) rejected(err error) {
	if f != nil && err != nil {
		f.metrics.Reloaded(err)
	}
}

// start creates the handler after the rest of the daemon has been set up.
func (f *adminFrontEnd) start(d *Daemon) error {
	if f == nil {
		return nil
	}
	err := f.metrics.Add(&metrics.Server{
		Store: d.store.Store, Outage: d.outage.state, Doubted: d.losses.doubted.Load, Generation: d.service.Generation,
		Changes: func() int { return len(d.policies.Changes()) }, WhenErrors: d.service.WhenErrors,
	})
	if err == nil {
		err = errors.Join(f.metrics.Add(metrics.Shadows.Of(f.shadows.Compare)), f.metrics.Add(metrics.Refusals.Of(func() metrics.Refused {
			return metrics.Refused{WrongSecrets: d.secrets.count, Requests: d.service.Refusals, Serving: f.metrics.Serving}
		})))
	}
	if f.auditor != nil && err == nil {
		err = f.metrics.Add(metrics.Audit.Of(f.auditor.Figures))
	}
	if d.gateway != nil && err == nil {
		err = f.metrics.Add(gateway.Metrics.Of(func() *gateway.Gateway { return d.gateway }))
	}
	if d.snapshot != nil && err == nil {
		err = f.metrics.Add(metrics.Snapshots.Of(d.snapshot.Stats))
	}
	if err == nil && d.config.Admin.EnvoyMetrics {
		if d.grpc == nil || d.grpc.service == nil {
			return errors.New("envoy-metrics without envoy-config: accepted: a directory with the files of envoyproxy/ratelimit")
		}
		err = f.metrics.Add(metrics.Envoy(d.EnvoyStats))
	}
	if err != nil {
		return err
	}
	c := &d.config
	f.listener = bound(f.listener, "admin", maxAdminConns, d.peerRule(), c.Logger)
	server := func() *adminapi.Server { return admin.Describe(serverName(), d.store.Store) }
	f.feed = admin.NewFeed(admin.FeedConfig{
		Server: server, Metrics: f.metrics, Top: f.top, Store: d.store.Store, Address: open.Redacted(c.Store), Outage: d.outage.state, Generation: d.service.Generation,
		Policies: func() int { return len(d.service.Policies().Names()) },
		Changes:  func() int { return len(d.policies.Changes()) },
	})
	f.server = &http.Server{
		Handler: admin.New(admin.Config{
			Users: d.users.admin, WrongSecret: d.secrets.in(service.Admin), Hosts: c.Admin.Hosts, Metrics: f.metrics.Handler(), Logger: c.Logger,
			Policies: d.policies, Service: d.service, Top: f.top, Shadows: f.shadows.Compare, Feed: f.feed, Server: server, Page: page.Handler(), Version: c.Version,
			Settings: c.Admin.Settings, InvalidFiles: f.metrics.InvalidFiles,
			HashKeys: d.hashKeys, ShowKey: c.namedKey(),
			Decide: d.limiter.Do, OpenOf: d.limiter.OpenOf, AcceptLoss: d.acceptLoss(),
			Counts: d.counts(), Outage: d.outage.state, Stored: d.stored(),
		}),
		ErrorLog:          slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute, // profiles take long
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ConnState: peers.State,
	}
	return nil
}

// count wraps the listeners so that the metrics count their connections.
func (f *adminFrontEnd) count(d *Daemon) {
	if f == nil {
		return
	}
	d.respListener = f.metrics.Listen(service.RESP, d.respListener)
	from := service.HTTP
	if d.gateway != nil {
		from = service.Gateway
	}
	d.httpListener = f.metrics.Listen(from, d.httpListener)
	f.listener = f.metrics.Listen(service.Admin, f.listener)
	if d.grpc != nil {
		d.grpc.listener = f.metrics.Listen(service.GRPC, d.grpc.listener)
	}
}

func (f *adminFrontEnd) open() net.Listener {
	if f == nil {
		return nil
	}
	return f.listener
}

func (f *adminFrontEnd) serve(l net.Listener) error { return f.server.Serve(l) }

// stop ends the listener and the event streams. A running profile is cut off.
func (f *adminFrontEnd) stop(ctx context.Context) error {
	if f == nil {
		return nil
	}
	f.feed.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := f.server.Shutdown(ctx); err != nil {
		return f.server.Close()
	}
	return nil
}

// close releases the resources of a daemon that never ran.
func (f *adminFrontEnd) close() {
	if f != nil {
		if f.feed != nil {
			f.feed.Close()
		}
		_ = f.listener.Close()
	}
}

// AdminAddr returns the address of the admin listener. It returns nil if none exists.
func (d *Daemon) AdminAddr() net.Addr { return addr(d.admin.open()) }
