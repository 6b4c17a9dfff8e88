package gateway

import "github.com/headgate/headgate/core"

// giveUp releases the permits of a request that has ended.
func (g *Gateway) giveUp(e *exchange, held *core.Permits) {
	if err := g.config.Service.Release(e, held); err != nil {
		g.releases.Warn(g.config.Logger, "permits of a request are not released yet", "error", err)
	}
}
