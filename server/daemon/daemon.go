// Package daemon is the complete server: a store, the service that uses it, and the front ends. New opens the store
// and the listeners, so that an invalid configuration causes an error before the server accepts a connection. Run
// serves until its context ends.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/policies"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/respapi"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/snapshot"
	"github.com/headgate/headgate/server/internal/tracing"
)

// Daemon is a server with open listeners.
type Daemon struct {
	config   Config
	store    open.Opened
	limiter  *core.Limiter
	service  *service.Service
	policies *policies.Manager
	outage   *outage
	losses   losses
	hashKeys *keyhash.File // nil if keys are not hashed
	users    guarded
	files    []followed // files to reload when they change
	secrets  wrongSecrets
	secret   *sharedSecret    // of reservations
	snapshot *snapshot.Keeper // nil if there are no snapshots
	traces   *tracing.Tracer  // nil if there is no tracing

	resp    *resp.Server
	http    *http.Server
	grpc    *grpcFrontEnd    // nil if not configured
	gateway *gateway.Gateway // nil if HTTP is the API
	admin   *adminFrontEnd   // nil if off
	conns   int              // maximum number of connections per front end

	usersPolicies usersPolicies
	locks         []*os.File // of the files that only one server may use

	respListener net.Listener
	httpListener net.Listener
	// floor holds heapFloor bytes that are never touched.
	floor []byte
}

// heapFloor makes the garbage collector assume at least this heap size. An HTTP or gRPC call leaves 2 to 4 KiB of
// garbage, and a server's limits may take only a few MiB, so without this floor the collector would run dozens of
// times a second. The memory is not resident, because its pages are never touched.
const heapFloor = 32 << 20

// New opens the store and the listeners. Run closes them.
func New(ctx context.Context, c Config) (*Daemon, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Daemon{config: c, floor: make([]byte, heapFloor), outage: newOutage(c.Logger), losses: losses{logger: c.Logger}, secrets: wrongSecrets{lines: lograte.Limit{Lines: maxWrongLines, Per: time.Second}, logger: c.Logger}, usersPolicies: usersPolicies{logger: c.Logger}}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.abandon(ctx))
	}
	return d, nil
}

// open opens the store, the front ends, and the other parts that the configuration enables. If it returns an error, the
// parts opened so far stay open: see abandon.
func (d *Daemon) open(ctx context.Context) (err error) {
	c := &d.config
	if d.admin, err = openAdmin(c); err != nil {
		return err
	}
	if err = d.openHashKeys(); err != nil {
		return err
	}
	if d.traces, err = openTraces(ctx, c); err != nil {
		return err
	}
	if err = d.openLimiter(ctx); err != nil {
		return err
	}
	if err = d.openUsers(); err != nil {
		return err
	}
	d.openService()
	// Fail now if a snapshot cannot be written.
	if err = errors.Join(d.loadPolicies(ctx), d.saveSnapshot(ctx)); err != nil {
		return err
	}
	return d.openFrontEnds()
}

// openLimiter opens the store and creates its limiter.
func (d *Daemon) openLimiter(ctx context.Context) (err error) {
	c := &d.config
	if c.StoreOptions.Prefetch.Life != 0 && c.StoreOptions.Prefetch.Spaces == nil {
		// No policy is leased yet, but a policy can become leased later.
		c.StoreOptions.Prefetch.Spaces = map[string][]engine.Limit{}
	}
	if c.remote() {
		c.nameProcess()
		c.StoreOptions.StartAway = true
		if own := c.StoreOptions.Fallback; own != nil {
			watched := *own
			watched.OnOutage, c.StoreOptions.Fallback = d.outage.Changed, &watched
		}
		c.StoreOptions.Deadline = -1 // Config.Deadline bounds each decision; Envoy's decisions have their own deadline
	}
	if err = errors.Join(d.lock("snapshot", c.Snapshot), d.lock("state-file", c.StateFile)); err != nil {
		return err
	}
	if d.store, err = openStore(ctx, c); err != nil {
		if c.StoreOptions.PasswordFile != "" {
			err = ofFlag("store-password-file", err)
		}
		return err
	}
	d.limiter, d.snapshot = core.New(core.Config{Store: d.store}), newSnapshot(c, d.store)
	d.warn(d.store.Warnings)
	if d.store.Away != nil {
		d.outage.Failed(ctx, d.store.Away)
	}
	if !c.remote() {
		c.Deadline = 0
	}
	return nil
}

func (d *Daemon) openService() {
	c := &d.config
	var cause func() error
	if d.store.Fallback != nil {
		cause = d.store.Fallback.Cause
	}
	var keys int64
	if d.store.Memory != nil {
		keys = d.store.Memory.Stats().Most
	}
	d.secret = secretIn(d.store)
	d.service = service.New(service.Config{
		Keys:    keys,
		Limiter: d.limiter, Failure: c.Failure, Users: c.Users != (UsersFiles{}), NoInline: c.NoInline, AllowWrites: c.AllowWrites, Deadline: c.Deadline,
		HashKeys: d.hashKeys, CheckStore: c.remote() && c.ReadyNeedsStore, Watcher: d.outage,
		Observer: d.admin.observer(c, d.traces), Secret: d.secret.get, Cause: cause, Refused: d.refused, Untrusted: untrusted(c.Logger), Origins: c.Origins,
	})
}

// openFrontEnds opens the front ends and their listeners.
func (d *Daemon) openFrontEnds() (err error) {
	c := &d.config
	d.boundConnections()
	d.resp, err = resp.New(resp.Config{
		Decisions: respapi.Commands(), Decide: d.service.For(service.RESP), Users: d.users.resp, WrongSecret: d.secrets.in(service.RESP),
		Refused:  func(why service.Refusal) { d.service.Refused(service.RESP, why) },
		MaxConns: d.conns, Peers: d.peerRule(), IdleTimeout: c.RESPIdle, Version: c.Version, Logger: c.Logger,
	})
	if err != nil {
		return err
	}
	d.http = newHTTP(httpapi.New(d.service, c.Admin.Hosts...), c.Logger)
	if err := errors.Join(d.openGateway(), d.openGRPC(), d.listen(), d.admin.start(d)); err != nil {
		return err
	}
	d.http.ConnState = peers.State
	d.http.Handler = d.guardHTTP(d.http.Handler)
	d.trace()
	d.http.Handler = d.front(d.http.Handler)
	d.admin.count(d)
	return d.secure()
}

// abandon closes the parts that were opened before open failed.
func (d *Daemon) abandon(ctx context.Context) (err error) {
	d.closeListeners()
	d.closeGateway()
	d.grpc.close()
	if d.limiter != nil {
		err = d.closeStore()
	}
	if d.traces != nil {
		_ = d.traces.Close(ctx) // it has no spans yet
	}
	d.admin.close()
	d.unlock()
	return err
}

// closeStore closes the store. What is still owed to it then, because of an outage, is lost, and no metric shows it.
func (d *Daemon) closeStore() error {
	err := d.limiter.Close()
	if own := d.store.Fallback; own != nil {
		if owed := own.Stats().Owed; owed > 0 {
			d.config.Logger.Warn("settlements and permits are lost", "count", owed)
		}
	}
	return errors.Join(err, d.store.Close())
}

// lock reserves a flag's file for this server, unless its name is "". Two servers on one file would overwrite what the
// other has written.
func (d *Daemon) lock(flag, path string) error {
	if path == "" || d.config.remote() {
		return nil
	}
	held, err := files.Lock(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	d.locks = append(d.locks, held)
	return nil
}

func (d *Daemon) unlock() {
	for _, held := range d.locks {
		_ = held.Close()
	}
}
