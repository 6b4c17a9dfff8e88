package daemon

import (
	"errors"
	"net"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/gateway"
)

// GatewayConfig makes the HTTP listener a gateway. The daemon sets Service, Peers, Origins and Logger.
type GatewayConfig = gateway.Config

// errNoUpstream is the configuration error for requests that would have no upstream.
var errNoUpstream = errors.New("--upstream is not set; accepted: a URL, or --unmatched deny and an upstream for every route")

// checkUpstreams returns [errNoUpstream] if the routes would leave some request without an upstream.
func checkUpstreams(c *GatewayConfig, routes *route.Table) error {
	if c.Upstream != nil {
		return nil
	}
	if !c.DenyUnmatched {
		return errNoUpstream
	}
	for _, r := range routes.Routes() {
		if r.Upstream == nil {
			return errNoUpstream
		}
	}
	return nil
}

// openGateway creates the gateway that replaces the HTTP API.
func (d *Daemon) openGateway() error {
	c := d.config.Gateway
	if c == nil {
		return nil
	}
	base := d.config.Base
	if base == nil {
		base = policy.Empty()
	}
	if err := checkUpstreams(c, base.Routes); err != nil {
		return err
	}
	d.warnNoRoutes(base.Routes)
	own := *c
	own.Service, own.Peers, own.Origins, own.Logger = d.service, d.peerRule(), d.config.Origins, d.config.Logger
	d.gateway = gateway.New(own)
	d.http = d.gateway.Server(d.config.Logger)
	return nil
}

// listenGateway wraps a listener to bound the duration of each write on the gateway's connections.
func (d *Daemon) listenGateway(l net.Listener) net.Listener {
	if d.gateway == nil {
		return l
	}
	return d.gateway.Listen(l)
}

// keepUpstreams passes new routes to the gateway, and warns if routes or upstreams are missing.
func (d *Daemon) keepUpstreams(routes *route.Table) {
	if d.gateway == nil {
		return
	}
	d.gateway.Keep(routes.Routes())
	d.warnNoRoutes(routes)
	if err := checkUpstreams(d.config.Gateway, routes); err != nil {
		d.config.Logger.Warn("some requests have no upstream, and are answered 502", "error", err)
	}
}

// warnNoRoutes logs that the gateway limits nothing. This is not an error, because a reload can add routes.
func (d *Daemon) warnNoRoutes(routes *route.Table) {
	if len(routes.Routes()) == 0 && !d.config.Gateway.DenyUnmatched {
		d.config.Logger.Warn("the gateway has no routes, and limits nothing")
	}
}

// closeGateway ends requests that are still in flight, such as websockets.
func (d *Daemon) closeGateway() {
	if d.gateway != nil {
		d.gateway.Close()
	}
}
