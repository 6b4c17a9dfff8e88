package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/redisstore/redisurl"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/peers"
)

// serveFlags holds the flags of the command serve. Most of them set the daemon's configuration directly; the others are
// texts to parse, or apply only where the policies file or the store's URL says nothing.
type serveFlags struct {
	daemon.Config

	config                 string
	failure                string
	level, format, denied  string
	usersFile              string
	maxKeys, maxInlineKeys int
	semantics              string
	headers                []string // --envoy-headers
	tls                    policy.TLSFiles
	gateway                bool // the command is gateway
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
	flags.StringVar(&f.RESP, "resp", "127.0.0.1:6380", "`address` for RESP, or off; port 0 takes a free port and prints it")
	flags.StringVar(&f.HTTP, "http", "127.0.0.1:8080", "`address` for HTTP, or off; port 0 takes a free port and prints it")
	flags.DurationVar(&f.RESPIdle, "resp-idle", 0, "close a RESP connection after this long without a command, 1s to 24h; 0s never does")
	flags.BoolVar(&f.AllowWrites, "allow-writes", false, "let clients give units back and reset keys")
	flags.StringVar(&f.failure, "failure", "local", "failure mode of inline limits, for decisions that are not known: "+policy.FailureModes())
	flags.StringVar(&f.usersFile, "users-file", "", "`file` with the users that may send requests, for every listener but admin; it is reread when it changes")
	flags.IntVar(&f.maxInlineKeys, "max-inline-keys", 0, "maximum number of keys in the memory store for limits in requests; by default half of --max-keys if there are policies, otherwise all")
	flags.BoolVar(&f.NoInline, "no-inline", false, "reject limits in requests: every request must name a policy")
	f.addEnvoy(flags)
	flags.BoolVar(&f.Admin.EnvoyMetrics, "envoy-metrics", false, "add metrics with the names of envoyproxy/ratelimit")
	return c
}

// add adds the flags that the commands serve and gateway share.
func (f *serveFlags) add(c *cobra.Command) {
	flags := c.Flags()
	f.StoreOptions.Fallback = &fallback.Config{}
	flags.StringVar(&f.config, "config", "", "`file` with policies")
	flags.StringVar(&f.StateFile, "state-file", "", "`file` for changes of policies made while the server runs, with --store memory; a Redis keeps them itself")
	flags.StringVar(&f.Store, "store", "memory", "the store for the counters: memory, or the `URL` of a Redis: redis://, rediss://, redis+sentinel://, redis+cluster://, unix://")
	flags.StringVar(&f.StoreOptions.PasswordFile, "store-password-file", "", "`file` with the Redis password")
	flags.DurationVar(&f.Deadline, "deadline", 50*time.Millisecond, "longest time for a decision on Redis; three quarters of the caller's own deadline if that is shorter")
	flags.DurationVar(&f.StoreOptions.Prefetch.Life, "lease-life", time.Second, "how long units prefetched for policies with mode: leased can be spent, 10ms to 10s")
	flags.Int64Var(&f.StoreOptions.Prefetch.MaxUnits, "lease-units", 10_000, "maximum number of prefetched units for a key, 1 to 1000000")
	flags.IntVar(&f.StoreOptions.Fallback.Expect, "expect-processes", 0, "expected number of servers on the Redis, up to 1000: with failure local each decides by its share of a limit, 1/N; the number seen counts once it has not changed for a minute")
	flags.IntVar(&f.PeerShare, "peer-share", peers.DefaultPercent, "maximum `percent` for one peer address of a listener's connections, the gateway's requests, and gRPC calls without a secret, 1 to 100; 100 turns this off; an IPv6 peer is its /64; trusted proxies are exempt")
	flags.BoolVar(&f.ReadyNeedsStore, "ready-needs-store", false, "report not ready while the store does not answer and a failure mode is deny")
	flags.DurationVar(&f.Drain, "drain", 5*time.Second, "how long to accept requests after reporting not ready")
	flags.StringVar(&f.Snapshot, "snapshot", "", "`file` that keeps the memory store through restarts: read at startup, and replaced every --snapshot-every and at the end")
	flags.DurationVar(&f.SnapshotEvery, "snapshot-every", 10*time.Second, "time between two snapshots, 1s to 24h; a crash loses the charges since the last one")
	flags.IntVar(&f.maxKeys, "max-keys", memstore.DefaultMaxKeys, "maximum number of keys in the memory store")
	flags.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "text", "text or json")
	flags.StringVar(&f.denied, "log-denied", "0/s", "log up to this many denied requests, 0/s to 1000/s, with up to 8 bytes and half of the key")
	flags.BoolVar(&f.LogKeys, "log-keys", false, "show whole keys in --log-denied and --trace-keys")
	flags.StringVar(&f.HashKeysFile, "hash-keys-file", "", "`file` with one or two secrets of 32 to 256 bytes, one per line: the store, the log, metrics and traces then have HMAC-SHA256 hashes instead of keys")
	flags.StringVar(&f.Admin.Address, "admin", daemon.Off, "`address` for operators: page, metrics, policies, keys, profiles; or off")
	flags.StringVar(&f.Admin.TokenFile, "admin-token-file", "", "`file` with the operators: users that may read or operate, or one or two tokens, one per line, and lines \"read TOKEN\" with read-only tokens; without it --admin must be on loopback")
	flags.IntVar(&f.Admin.AuditSample, "audit-sample", 0, "audit one key in this many, 1 to 1048576: metrics count the units by which this server exceeded its limit; 0 audits none")
	flags.StringSliceVar(&f.Admin.Hosts, "admin-host", nil, "another host `name` of this server, besides its address and localhost, for operators' browsers and /v1/policies; can be repeated")
	flags.StringSliceVar(&f.Origins, "cors-origin", nil, "an `origin` whose pages can read denials by the gateway and by authorize, such as https://app.example.com, or *; can be repeated")
	f.addTLS(flags)
	f.addTraces(flags)
}

func (f *serveFlags) serve(c *cobra.Command) error {
	if err := f.complete(c); err != nil {
		return err
	}
	return serve(c, f.Config, f.format)
}

// serve runs a server until a signal ends it.
func serve(c *cobra.Command, config daemon.Config, format string) error {
	ignoreBrokenPipes()
	captureLibraries(config.Logger)
	hangups := catchHangups()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d, err := daemon.New(ctx, config)
	if err != nil {
		return ofStore(err)
	}
	go reloadOn(ctx, hangups, d.Reload, config.Logger)
	announce(c.OutOrStdout(), d, format)

	stopNow, release := secondSignal(ctx)
	defer release()
	return d.Run(ctx, stopNow)
}

// announce prints the server's addresses, for scripts that use port 0, in the log's format.
func announce(w io.Writer, d *daemon.Daemon, format string) {
	lines := slog.New(slog.NewJSONHandler(w, nil))
	for _, l := range []struct {
		name    string
		address net.Addr
	}{{"resp", d.RESPAddr()}, {"http", d.HTTPAddr()}, {"grpc", d.GRPCAddr()}, {"admin", d.AdminAddr()}} {
		switch {
		case l.address == nil:
		case format == "json":
			lines.Info("listening", "listener", l.name, "address", l.address.String())
		default:
			fmt.Fprintf(w, "%s listening on %s\n", l.name, l.address)
		}
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
	refuse(f.Store != open.Memory && !redisurl.Known(f.Store), "--store %s: accepted: %s", strconv.Quote(open.Redacted(f.Store)), open.Accepted)
	refuse(f.Deadline <= 0 || f.Deadline > time.Minute, "--deadline %s: accepted: more than 0s, up to 1m", f.Deadline)
	prefetched, expected := f.StoreOptions.Prefetch, f.StoreOptions.Fallback.Expect
	refuse(prefetched.Life < 10*time.Millisecond || prefetched.Life > 10*time.Second, "--lease-life %s: accepted: 10ms to 10s", prefetched.Life)
	refuse(prefetched.MaxUnits < 1 || prefetched.MaxUnits > 1_000_000, "--lease-units %d: accepted: 1 to 1000000", prefetched.MaxUnits)
	refuse(expected < 0 || expected > engine.MaxMembers, "--expect-processes %d: accepted: 0 to %d", expected, engine.MaxMembers)
	refuse(f.RESPIdle != 0 && (f.RESPIdle < time.Second || f.RESPIdle > 24*time.Hour), "--resp-idle %s: accepted: 0s, or 1s to 24h", f.RESPIdle)
	refuse(f.PeerShare < 1 || f.PeerShare > 100, "--peer-share %d: accepted: 1 to 100", f.PeerShare)
	refuse(f.Drain < 0 || f.Drain > time.Hour, "--drain %s: accepted: 0s to 1h", f.Drain)
	for _, origin := range f.Origins {
		u, err := url.Parse(origin)
		refuse(origin != "*" && (err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host),
			"--cors-origin %s: accepted: *, or a scheme and a host, such as https://app.example.com", strconv.Quote(origin))
	}
	return errors.Join(errs...)
}

// complete checks the flags, reads the policies file, and sets the rest of the configuration. Flags take precedence over
// the file, except for users files and TLS files: see listeners. The returned error lists all errors in the flags and
// the file.
func (f *serveFlags) complete(c *cobra.Command) error {
	if err := refuseEmpty(c); err != nil {
		return err
	}
	f.Version, f.Users = version(), daemon.UsersFiles{RESP: f.usersFile, HTTP: f.usersFile, GRPC: f.usersFile}
	err := errors.Join(f.checkEnvoy(c), f.setTLS(), f.check(), f.read(c), f.checkTraces(c), f.readFile(c))
	f.setDeadline(c)
	if err == nil {
		err = refuseUnused(c, f)
	}
	f.Admin.Settings = settings(c, &f.Config)
	return err
}

// setDeadline sets the deadline for decisions from the flag or the store's URL. The deadline also bounds tests of the
// store.
func (f *serveFlags) setDeadline(c *cobra.Command) {
	// If the URL has errors, opening the store reports them.
	if within, err := open.Deadline(f.Store); err == nil && within != 0 && !c.Flags().Changed("deadline") {
		f.Deadline = max(0, within)
	}
	f.StoreOptions.Fallback.Slow = fallback.SlowOf(f.Deadline)
}

// read parses the flags whose values are strings.
func (f *serveFlags) read(c *cobra.Command) error {
	var failure, memory, denied, logger error
	if f.Failure, failure = policy.ParseFailure(f.failure); failure != nil {
		failure = fmt.Errorf("--failure: %w", failure)
	}
	f.StoreOptions.Memory, memory = f.memory(f.config != "" || f.GRPC.EnvoyConfig != "")
	if f.LogDenied, denied = perSecond(f.denied); denied != nil {
		denied = fmt.Errorf("--log-denied %s: accepted: 0/s to %d/s", strconv.Quote(f.denied), daemon.MaxLogDenied)
	}
	f.Logger, logger = f.logger(c.ErrOrStderr())
	return errors.Join(failure, memory, denied, logger)
}

// readFile reads the policies file, if one is set.
func (f *serveFlags) readFile(c *cobra.Command) error {
	if f.config == "" {
		return nil
	}
	file, err := policy.Reader{Gateway: f.gateway}.Reload(f.config, nil)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("--config: %w", err)
	}
	if err != nil {
		return printErrors(c.ErrOrStderr(), err)
	}
	f.ConfigFile, f.Base = f.config, file
	if file.Store != "" && !c.Flags().Changed("store") {
		f.Store = file.Store
	}
	if file.StorePasswordFile != "" && !c.Flags().Changed("store-password-file") {
		f.StoreOptions.PasswordFile = file.StorePasswordFile
	}
	f.listeners(c, &file.Listeners)
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
