package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/gateway"
)

// gatewayFlags holds the flags of the command gateway, which serves neither RESP nor gRPC.
type gatewayFlags struct {
	serveFlags

	own                             daemon.GatewayConfig
	upstream, upstreamCA, unmatched string
}

func newGateway() *cobra.Command {
	f := gatewayFlags{serveFlags: serveFlags{
		Config:  daemon.Config{RESP: daemon.Off, GRPC: daemon.GRPC{Address: daemon.Off, Deadline: time.Second}},
		gateway: true, failure: "local", semantics: "envoy",
	}}
	c := &cobra.Command{
		Use:   "gateway --config FILE",
		Short: "Run a reverse proxy that limits requests by routes",
		Long: `Pass HTTP requests on to upstreams, and limit them by the routes of the policies file.
Denied requests are answered 429. Requests that a pacer delays wait for their turn. The
signals are those of serve.`,
		Example: "  headgate gateway --config policies.yaml --upstream http://127.0.0.1:9000",
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return f.logged(c.ErrOrStderr(), f.run(c)) },
	}
	f.add(c)
	flags := c.Flags()
	flags.StringVar(&f.HTTP, "http", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free port and prints it")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the upstream for routes without one: http://, https:// or h2c://, a host, and optionally a port and a path")
	flags.StringVar(&f.upstreamCA, "upstream-ca", "", "`file` with CA certificates in PEM for upstreams' certificates, read at startup; by default the system's")
	flags.StringVar(&f.unmatched, "unmatched", "pass", "for requests without a route: pass (forward them without a limit) or deny (with 404)")
	flags.DurationVar(&f.own.UpstreamTimeout, "upstream-timeout", time.Minute, "longest time until the header of an upstream's answer, up to 1h; 0 for no bound")
	flags.DurationVar(&f.own.StallTimeout, "stall-timeout", 30*time.Second, "end a connection that accepts no bytes for this long, and a request whose body pauses for this long; 1s to 1h")
	flags.Int64Var(&f.own.BodyRate, "body-rate", 1024, "minimum number of `bytes` of a body in 10 s, 0 to 1048576; a slower client gets 408; 0 for no bound; for gRPC it applies within a message")
	flags.IntVar(&f.own.MaxWaiting, "max-waiting", 5000, "maximum number of requests that wait for their slot, 0 to 10000; others get 503")
	flags.StringVar(&f.own.ReadyPath, "ready-path", "", "`path` where the gateway reports its readiness to load balancers")
	return c
}

func (f *gatewayFlags) run(c *cobra.Command) error {
	if f.config == "" {
		return errors.New("--config is not set; accepted: a file with policies and routes")
	}
	if err := f.checkOwn(); err != nil {
		return err
	}
	if err := f.complete(c); err != nil {
		return err
	}
	if f.HTTP == daemon.Off {
		return errors.New("--http is off; accepted: the address that the gateway listens on")
	}
	// The file may also configure listeners that only serve has.
	f.RESP, f.GRPC.Address, f.Gateway = daemon.Off, daemon.Off, &f.own
	return serve(c, f.Config, f.format)
}

// checkOwn checks the flags that only the command gateway has, and completes the gateway's configuration.
func (f *gatewayFlags) checkOwn() (err error) {
	g := &f.own
	g.DenyUnmatched = f.unmatched == "deny"
	switch {
	case f.unmatched != "pass" && f.unmatched != "deny":
		return unknownWord("unmatched", f.unmatched)
	case g.UpstreamTimeout < 0 || g.UpstreamTimeout > time.Hour:
		return fmt.Errorf("--upstream-timeout %s: accepted: 0s to 1h", g.UpstreamTimeout)
	case g.StallTimeout < time.Second || g.StallTimeout > time.Hour:
		return fmt.Errorf("--stall-timeout %s: accepted: 1s to 1h", g.StallTimeout)
	case g.BodyRate < 0 || g.BodyRate > 1<<20:
		return fmt.Errorf("--body-rate %d: accepted: 0 to 1048576", g.BodyRate)
	case g.MaxWaiting < 0 || g.MaxWaiting > 10_000:
		return fmt.Errorf("--max-waiting %d: accepted: 0 to 10000", g.MaxWaiting)
	case g.ReadyPath != "" && !strings.HasPrefix(g.ReadyPath, "/"):
		return fmt.Errorf("--ready-path %s: accepted: a path, such as /readyz", strconv.Quote(g.ReadyPath))
	}
	if f.upstreamCA != "" {
		if g.UpstreamCAs, err = files.Certificates(f.upstreamCA); err != nil {
			return fmt.Errorf("--upstream-ca: %w", err)
		}
	}
	if f.upstream == "" {
		return nil
	}
	if g.Upstream, err = route.ParseUpstream(gateway.DefaultUpstream, f.upstream); err != nil {
		return fmt.Errorf("--upstream: %w", err)
	}
	return nil
}
