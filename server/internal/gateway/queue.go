package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/httplimit/wire"
)

// wait waits until a pacer's slot for a request begins, and returns true. If the client disconnects or the gateway
// stops before that, or if the maximum number of requests is already waiting, wait gives the request's units back,
// answers it and returns false.
func (g *Gateway) wait(w http.ResponseWriter, r *http.Request, e *exchange, delay time.Duration) bool {
	place, ok := g.queue(w, e, delay)
	if !ok {
		return false
	}
	defer place.Free()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for read := e.body.readAhead(r); ; read = nil {
		select {
		case <-timer.C:
			g.stats.Waited.Add(1)
			return true
		case <-e.Done():
			g.left(e)
			// If the client is still connected, the gateway is stopping. Only then can the client read this answer.
			e.refuse(w, wire.NewProblem(http.StatusServiceUnavailable, "", "the gateway stops before the request's turn has come"))
			return false
		case <-read:
			if err := e.body.failed(); err != nil {
				g.left(e)
				e.broken(w, err)
				return false
			}
		}
	}
}

// left gives back the charge of a request that leaves the queue.
func (g *Gateway) left(e *exchange) {
	g.stats.Left.Add(1)
	g.undo(e)
}

// undo gives back a request's charge. Further calls do nothing.
func (g *Gateway) undo(e *exchange) {
	charged := e.responses[0].Charged
	if charged == nil {
		return
	}
	e.responses[0].Charged = nil
	if err := g.config.Service.Undo(e, charged); err != nil {
		g.stats.UndoFailed.Add(1)
		g.config.Logger.WarnContext(context.WithoutCancel(e), "units of a request could not be given back", "error", err)
		return
	}
	g.stats.Undone.Add(1)
}

// giveUp releases the permits of a request that has ended.
func (g *Gateway) giveUp(e *exchange, held *core.Permits) {
	if err := g.config.Service.Release(e, held); err != nil {
		g.releases.Warn(g.config.Logger, "permits of a request are not released yet", "error", err)
	}
}
