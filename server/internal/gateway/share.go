package gateway

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/peers"
)

// enterAgain is the Retry-After for requests that the gateway has no room for. Most requests end within a second.
const enterAgain = time.Second

// enter counts an incoming request as in flight. If the gateway or the client's share is full, it answers the request
// and returns false. Without the share, one client could fill the gateway with requests over 43 HTTP/2 connections, and
// all of them could go to one upstream (regression: bug 70).
func (g *Gateway) enter(w http.ResponseWriter, e *exchange) (peers.Place, bool) {
	place, verdict := g.inFlight.Take(e.client)
	switch verdict {
	case peers.Granted:
		return place, true
	case peers.OverShare:
		g.stats.InFlightOver.Add(1)
		noRoom(w, e, enterAgain, "this client address has as many requests at once as it can have", g.inFlight.Share())
	case peers.Full:
		g.stats.Full.Add(1)
		noRoom(w, e, enterAgain, "the gateway has as many requests at once as it can have", g.inFlight.Most())
	}
	return place, false
}

// queue counts a request as waiting for its slot. If too many are waiting, in total or from the same client, it gives
// the request's units back, answers it and returns false.
func (g *Gateway) queue(w http.ResponseWriter, e *exchange, delay time.Duration) (peers.Place, bool) {
	place, verdict := g.waiting.Take(e.client)
	if verdict == peers.Granted {
		return place, true
	}
	g.stats.QueueFull.Add(1)
	g.undo(e)
	if verdict == peers.OverShare {
		g.stats.WaitingOver.Add(1)
		noRoom(w, e, delay, "as many requests of this client address wait for their turn as can wait", g.waiting.Share())
		return place, false
	}
	noRoom(w, e, delay, "as many requests wait for their turn as can wait", g.waiting.Most())
	return place, false
}

// noRoom answers a request that exceeds a bound with 503. again is the value for Retry-After, and most is the bound.
func noRoom(w http.ResponseWriter, e *exchange, again time.Duration, why string, most int) {
	wire.RetryAfter(w.Header(), again)
	e.refuse(w, wire.NewProblem(http.StatusServiceUnavailable, "", fmt.Sprintf("%s; accepted: up to %d", why, most)))
}
