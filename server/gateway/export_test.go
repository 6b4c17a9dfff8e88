package gateway

import (
	"time"

	"github.com/headgate/headgate/server/peers"
)

// SetMostInFlight replaces maxInFlight. It is called before the first request.
func (g *Gateway) SetMostInFlight(n int) { g.inFlight = peers.NewShares(n, g.config.Peers) }

// Escape writes a message of gRPC as a header has it.
var Escape = escape

// SetUnreadWait replaces unreadWait. It is called before the first request.
func (g *Gateway) SetUnreadWait(d time.Duration) { g.unreadWait = d }

// SetBodyWindow replaces bodyWindow. It is called before the first request.
func (g *Gateway) SetBodyWindow(d time.Duration) { g.bodyWindow = d }
