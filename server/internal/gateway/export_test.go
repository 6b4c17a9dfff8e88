package gateway

import (
	"time"

	"github.com/headgate/headgate/server/internal/peers"
)

// SetMostInFlight replaces maxInFlight. Call it before the first request.
func (g *Gateway) SetMostInFlight(n int) { g.inFlight = peers.NewShares(n, g.config.Peers) }

// Escape encodes a gRPC message for a header.
var Escape = escape

// SetUnreadWait replaces unreadWait. Call it before the first request.
func (g *Gateway) SetUnreadWait(d time.Duration) { g.unreadWait = d }

// SetBodyWindow replaces bodyWindow. Call it before the first request.
func (g *Gateway) SetBodyWindow(d time.Duration) { g.bodyWindow = d }
