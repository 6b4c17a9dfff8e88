package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/peers"
)

// serveFlags holds the flags of the command serve.
type serveFlags struct {
	config, stateFile         string
	snapshot                  string
	snapshotEvery             time.Duration
	store, resp, http         string
	failure                   string
	level, format, denied     string
	keys                      bool
	hashKeysFile              string
	allowWrites               bool
	readyNeedsStore           bool
	maxStale, leaseLife       time.Duration
	leaseUnits                int64
	storePasswordFile         string
	drain, deadline, respIdle time.Duration
	expectProcesses           int
	usersFile                 string
	noInline                  bool
	maxKeys, maxInlineKeys    int
	peerShare                 int
	envoy                     envoyFlags
	admin                     adminFlags
	tls                       tlsFlags
	traces                    traceFlags
	gateway                   bool // the command is gateway
}

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server until SIGTERM or SIGINT. Readiness then ends at once. After --drain the
server accepts no more connections, answers the requests that it has read, and exits
with status 0. A second signal skips the drain. SIGHUP reads the policies file
and the directory of --envoy-config again; a change of them does so too.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return f.logged(c.ErrOrStderr(), f.serve(c)) },
	}
	f.add(c)
	flags := c.Flags()
	flags.StringVar(&f.resp, "resp", "127.0.0.1:6380", "`address` for RESP, or off; port 0 takes a free port and prints it")
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "`address` for HTTP, or off; port 0 takes a free port and prints it")
	flags.DurationVar(&f.respIdle, "resp-idle", 0, "close a RESP connection after this long without a command, 1s to 24h; 0s never does")
	flags.BoolVar(&f.allowWrites, "allow-writes", false, "let clients give units back and reset keys")
	flags.StringVar(&f.failure, "failure", "local", "failure mode of inline limits, for decisions that are not known: "+policy.FailureModes())
	flags.StringVar(&f.usersFile, "users-file", "", "`file` with the users that may send requests, for every listener but admin; it is reread when it changes")
	flags.IntVar(&f.maxInlineKeys, "max-inline-keys", 0, "maximum number of keys in the memory store for limits in requests; by default half of --max-keys if there are policies, otherwise all")
	flags.BoolVar(&f.noInline, "no-inline", false, "reject limits in requests: every request must name a policy")
	f.envoy.add(c)
	return c
}

// add adds the flags that the commands serve and gateway share.
func (f *serveFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.config, "config", "", "`file` with policies")
	flags.StringVar(&f.stateFile, "state-file", "", "`file` for changes of policies made while the server runs, with --store memory; a Redis keeps them itself")
	flags.StringVar(&f.store, "store", "memory", "the store for the counters: memory, or the `URL` of a Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://")
	flags.StringVar(&f.storePasswordFile, "store-password-file", "", "`file` with the Redis password")
	flags.DurationVar(&f.deadline, "deadline", 50*time.Millisecond, "longest time for a decision on Redis; three quarters of the caller's own deadline if that is shorter")
	flags.DurationVar(&f.maxStale, "max-stale", 0, "repeat a denial for this long without calling Redis, up to 1h; meanwhile units given back by other servers go unnoticed; 0 always calls Redis")
	flags.DurationVar(&f.leaseLife, "lease-life", time.Second, "how long units prefetched for policies with mode: leased can be spent, 10ms to 10s")
	flags.Int64Var(&f.leaseUnits, "lease-units", 10_000, "maximum number of prefetched units for a key, 1 to 1000000")
	flags.IntVar(&f.expectProcesses, "expect-processes", 0, "minimum number of servers on the Redis, up to 1000: with failure local each decides by its share of a limit; by default the number seen last")
	flags.IntVar(&f.peerShare, "peer-share", peers.DefaultPercent, "maximum `percent` for one peer address of a listener's connections, the gateway's requests, and gRPC calls without a secret, 1 to 100; 100 turns this off; an IPv6 peer is its /64; trusted proxies are exempt")
	flags.BoolVar(&f.readyNeedsStore, "ready-needs-store", false, "report not ready while the store does not answer and a failure mode is deny")
	flags.DurationVar(&f.drain, "drain", 5*time.Second, "how long to accept requests after reporting not ready")
	flags.StringVar(&f.snapshot, "snapshot", "", "`file` that keeps the memory store through restarts: read at startup, and replaced every --snapshot-every and at the end")
	flags.DurationVar(&f.snapshotEvery, "snapshot-every", 10*time.Second, "time between two snapshots, 1s to 24h; a crash loses the charges since the last one")
	flags.IntVar(&f.maxKeys, "max-keys", memstore.DefaultMaxKeys, "maximum number of keys in the memory store")
	flags.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "text", "text or json")
	flags.StringVar(&f.denied, "log-denied", "0/s", "log up to this many denied requests, 0/s to 1000/s, with up to 8 bytes and half of the key")
	flags.BoolVar(&f.keys, "log-keys", false, "show whole keys in --log-denied and --trace-keys")
	flags.StringVar(&f.hashKeysFile, "hash-keys-file", "", "`file` with one or two secrets of 32 to 256 bytes, one per line: the store, the log, metrics and traces then have HMAC-SHA256 hashes instead of keys")
	f.admin.add(c)
	f.tls.add(c)
	f.traces.add(c)
}

func (f *serveFlags) serve(c *cobra.Command) error {
	config, err := f.daemonConfig(c)
	if err != nil {
		return err
	}
	return serve(c, config)
}

// serve runs a server until a signal ends it.
func serve(c *cobra.Command, config daemon.Config) error {
	ignoreBrokenPipes()
	captureLibraries(config.Logger)
	hangups := catchHangups()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d, err := daemon.New(ctx, config)
	if input, ok := errors.AsType[*engine.InputError](err); ok && input.Field == "max_stale" {
		input.Field = "--max-stale"
	}
	if err != nil {
		return err
	}
	go reloadOn(ctx, hangups, d.Reload, config.Logger)
	announce(c.OutOrStdout(), d)

	stopNow, release := secondSignal(ctx)
	defer release()
	return d.Run(ctx, stopNow)
}

// announce prints the server's addresses, for scripts that use port 0.
func announce(w io.Writer, d *daemon.Daemon) {
	if a := d.RESPAddr(); a != nil {
		fmt.Fprintf(w, "resp listening on %s\n", a)
	}
	if a := d.HTTPAddr(); a != nil {
		fmt.Fprintf(w, "http listening on %s\n", a)
	}
	if a := d.GRPCAddr(); a != nil {
		fmt.Fprintf(w, "grpc listening on %s\n", a)
	}
	if a := d.AdminAddr(); a != nil {
		fmt.Fprintf(w, "admin listening on %s\n", a)
	}
}

// check checks the store's URL and the ranges of durations and numbers.
func (f *serveFlags) check() error {
	var errs []error
	refuse := func(wrong bool, format string, values ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, values...))
		}
	}
	refuse(f.store != open.Memory && !redisurl.Known(f.store), "--store %s: accepted: %s", strconv.Quote(open.Redacted(f.store)), open.Accepted)
	refuse(f.deadline <= 0 || f.deadline > time.Minute, "--deadline %s: accepted: more than 0s, up to 1m", f.deadline)
	refuse(f.leaseLife < 10*time.Millisecond || f.leaseLife > 10*time.Second, "--lease-life %s: accepted: 10ms to 10s", f.leaseLife)
	refuse(f.leaseUnits < 1 || f.leaseUnits > 1_000_000, "--lease-units %d: accepted: 1 to 1000000", f.leaseUnits)
	refuse(f.expectProcesses < 0 || f.expectProcesses > engine.MaxMembers, "--expect-processes %d: accepted: 0 to %d", f.expectProcesses, engine.MaxMembers)
	refuse(f.respIdle != 0 && (f.respIdle < time.Second || f.respIdle > 24*time.Hour), "--resp-idle %s: accepted: 0s, or 1s to 24h", f.respIdle)
	refuse(f.peerShare < 1 || f.peerShare > 100, "--peer-share %d: accepted: 1 to 100", f.peerShare)
	refuse(f.drain < 0 || f.drain > time.Hour, "--drain %s: accepted: 0s to 1h", f.drain)
	return errors.Join(errs...)
}

// daemonConfig checks the flags and reads the policies file. Flags take precedence over the file, except for users
// files and TLS files: see listeners. The returned error lists all errors in the flags and the file.
func (f *serveFlags) daemonConfig(c *cobra.Command) (config daemon.Config, err error) {
	if err := refuseEmpty(c); err != nil {
		return config, err
	}
	grpc, grpcErr := f.envoy.apply(c, f)
	secure, tlsErr := f.tls.apply(grpc.Address)
	config = daemon.Config{
		TLS: secure, GRPC: grpc, Admin: daemon.AdminConfig{Address: f.admin.admin, TokenFile: f.admin.tokenFile, Hosts: f.admin.hosts, AuditSample: f.admin.audit},
		RESP: f.resp, RESPIdle: f.respIdle, HTTP: f.http, Store: f.store, AllowWrites: f.allowWrites, Drain: f.drain, Version: version(),
		Users: daemon.UsersFiles{RESP: f.usersFile, HTTP: f.usersFile, GRPC: f.usersFile}, NoInline: f.noInline,
		PeerShare: f.peerShare, ReadyNeedsStore: f.readyNeedsStore, StateFile: f.stateFile, Snapshot: f.snapshot, SnapshotEvery: f.snapshotEvery,
		LogKeys: f.keys, HashKeysFile: f.hashKeysFile,
		StoreOptions: open.Options{
			PasswordFile: f.storePasswordFile, MaxStale: f.maxStale, Prefetch: prefetch.Config{Life: f.leaseLife, MaxUnits: f.leaseUnits},
			Fallback: &fallback.Config{Expect: f.expectProcesses},
		},
	}
	err = errors.Join(grpcErr, tlsErr, f.check(), f.read(c, &config), f.traces.apply(c, &config), f.readFile(c, &config))
	f.setDeadline(c, &config)
	if err == nil {
		err = refuseUnused(c, f, &config)
	}
	config.Admin.Settings = settings(c, &config)
	return config, err
}

// setDeadline sets the deadline for decisions from the flag or the store's URL. The deadline also bounds tests of the
// store.
func (f *serveFlags) setDeadline(c *cobra.Command, config *daemon.Config) {
	// If the URL has errors, opening the store reports them.
	if within, err := open.Deadline(config.Store); err == nil && within != 0 && !c.Flags().Changed("deadline") {
		f.deadline = max(0, within)
	}
	config.Deadline, config.StoreOptions.Fallback.Slow = f.deadline, fallback.SlowOf(f.deadline)
}

// read parses the flags whose values are strings.
func (f *serveFlags) read(c *cobra.Command, config *daemon.Config) error {
	var failure, memory, denied, logger error
	if config.Failure, failure = policy.ParseFailure(f.failure); failure != nil {
		failure = fmt.Errorf("--failure: %w", failure)
	}
	config.StoreOptions.Memory, memory = f.memory(f.config != "" || config.GRPC.EnvoyConfig != "")
	if config.LogDenied, denied = perSecond(f.denied); denied != nil {
		denied = fmt.Errorf("--log-denied %s: accepted: 0/s to %d/s", strconv.Quote(f.denied), daemon.MaxLogDenied)
	}
	config.Logger, logger = f.logger(c.ErrOrStderr(), &config.Admin)
	return errors.Join(failure, memory, denied, logger)
}

// readFile reads the policies file, if one is set.
func (f *serveFlags) readFile(c *cobra.Command, config *daemon.Config) error {
	if f.config == "" {
		return nil
	}
	file, err := policy.Reader{Gateway: f.gateway}.Reload(f.config, nil)
	if err != nil {
		return printErrors(c.ErrOrStderr(), err)
	}
	config.ConfigFile, config.Base = f.config, file
	if file.Store != "" && !c.Flags().Changed("store") {
		config.Store = file.Store
	}
	if file.StorePasswordFile != "" && !c.Flags().Changed("store-password-file") {
		config.StoreOptions.PasswordFile = file.StorePasswordFile
	}
	f.listeners(c, config, &file.Listeners)
	return nil
}

// memory returns the configuration of the memory store. If there are policies, inline limits get half of the store, or
// the number of keys in --max-inline-keys, so that they cannot fill it completely.
func (f *serveFlags) memory(policies bool) (memstore.Config, error) {
	m := memstore.Config{MaxKeys: f.maxKeys}
	if f.maxKeys < 1 || f.maxKeys > 1<<31 {
		return m, fmt.Errorf("--max-keys %d: accepted: 1 to 2147483648", f.maxKeys)
	}
	inline := f.maxInlineKeys
	if inline < 0 || inline > f.maxKeys {
		return m, fmt.Errorf("--max-inline-keys %d: accepted: 0 to --max-keys, %d", f.maxInlineKeys, f.maxKeys)
	}
	if inline == 0 && policies {
		inline = max(f.maxKeys/2, 1)
	}
	if inline > 0 {
		m.MaxKeysOf = map[string]int{decide.InlineSpace: inline}
	}
	return m, nil
}
