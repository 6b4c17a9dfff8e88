package main

import (
	"errors"
	"fmt"
	"net/url"
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

	upstream, upstreamCA, unmatched, readyPath string
	upstreamTimeout, stallTimeout              time.Duration
	maxWaiting                                 int
	bodyRate                                   int64
	origins                                    []string
}

func newGateway() *cobra.Command {
	f := gatewayFlags{serveFlags: serveFlags{
		gateway: true, resp: daemon.Off, failure: "local", envoy: envoyFlags{grpc: daemon.Off, semantics: "envoy", deadline: time.Second},
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
	flags.StringVar(&f.http, "http", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free port and prints it")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the upstream for routes without one: http://, https:// or h2c://, a host, and optionally a port and a path")
	flags.StringVar(&f.upstreamCA, "upstream-ca", "", "`file` with CA certificates in PEM for upstreams' certificates, read at startup; by default the system's")
	flags.StringVar(&f.unmatched, "unmatched", "pass", "for requests without a route: pass (forward them without a limit) or deny (with 404)")
	flags.DurationVar(&f.upstreamTimeout, "upstream-timeout", time.Minute, "longest time until the header of an upstream's answer, up to 1h; 0 for no bound")
	flags.DurationVar(&f.stallTimeout, "stall-timeout", 30*time.Second, "end a connection that accepts no bytes for this long, and a request whose body pauses for this long; 1s to 1h")
	flags.Int64Var(&f.bodyRate, "body-rate", 1024, "minimum number of `bytes` of a body in 10 s, 0 to 1048576; a slower client gets 408; 0 for no bound; for gRPC it applies within a message")
	flags.IntVar(&f.maxWaiting, "max-waiting", 5000, "maximum number of requests that wait for their slot, 0 to 10000; others get 503")
	flags.StringSliceVar(&f.origins, "cors-origin", nil, "an `origin` whose pages can read the gateway's own answers, such as https://app.example.com, or *; can be repeated")
	flags.StringVar(&f.readyPath, "ready-path", "", "`path` where the gateway reports its readiness to load balancers")
	return c
}

func (f *gatewayFlags) run(c *cobra.Command) error {
	if f.config == "" {
		return errors.New("--config is not set; accepted: a file with policies and routes")
	}
	own, err := f.settings()
	if err != nil {
		return err
	}
	config, err := f.daemonConfig(c)
	if err != nil {
		return err
	}
	if config.HTTP == daemon.Off {
		return errors.New("--http is off; accepted: the address that the gateway listens on")
	}
	// The file may also configure listeners that only serve has.
	config.RESP, config.GRPC.Address, config.Gateway = daemon.Off, daemon.Off, own
	return serve(c, config)
}

// settings checks the flags that only the command gateway has, and returns the gateway's configuration.
func (f *gatewayFlags) settings() (*daemon.GatewayConfig, error) {
	g := &daemon.GatewayConfig{
		DenyUnmatched: f.unmatched == "deny", UpstreamTimeout: f.upstreamTimeout, StallTimeout: f.stallTimeout,
		BodyRate: f.bodyRate, MaxWaiting: f.maxWaiting, Origins: f.origins, ReadyPath: f.readyPath,
	}
	switch {
	case f.unmatched != "pass" && f.unmatched != "deny":
		return nil, unknownWord("unmatched", f.unmatched)
	case f.upstreamTimeout < 0 || f.upstreamTimeout > time.Hour:
		return nil, fmt.Errorf("--upstream-timeout %s: accepted: 0s to 1h", f.upstreamTimeout)
	case f.stallTimeout < time.Second || f.stallTimeout > time.Hour:
		return nil, fmt.Errorf("--stall-timeout %s: accepted: 1s to 1h", f.stallTimeout)
	case f.bodyRate < 0 || f.bodyRate > 1<<20:
		return nil, fmt.Errorf("--body-rate %d: accepted: 0 to 1048576", f.bodyRate)
	case f.maxWaiting < 0 || f.maxWaiting > 10_000:
		return nil, fmt.Errorf("--max-waiting %d: accepted: 0 to 10000", f.maxWaiting)
	case f.readyPath != "" && !strings.HasPrefix(f.readyPath, "/"):
		return nil, fmt.Errorf("--ready-path %s: accepted: a path, such as /readyz", strconv.Quote(f.readyPath))
	}
	for _, origin := range f.origins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host) {
			return nil, fmt.Errorf("--cors-origin %s: accepted: *, or a scheme and a host, such as https://app.example.com", strconv.Quote(origin))
		}
	}
	var err error
	if f.upstreamCA != "" {
		if g.UpstreamCAs, err = files.Certificates(f.upstreamCA); err != nil {
			return nil, fmt.Errorf("--upstream-ca: %w", err)
		}
	}
	if f.upstream == "" {
		return g, nil
	}
	if g.Upstream, err = route.ParseUpstream(gateway.DefaultUpstream, f.upstream); err != nil {
		return nil, fmt.Errorf("--upstream: %w", err)
	}
	return g, nil
}
