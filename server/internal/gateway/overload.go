package gateway

import (
	"net/http"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit/wire"
)

// acquire acquires the upstream's permit if the upstream bounds its requests in flight. If too many are in flight, it
// answers the request and returns false. It is called before the request is charged, and again after a pacer's delay.
func (e *exchange) acquire(w http.ResponseWriter) bool {
	l := e.upstream.limiter.Load()
	if l == nil { // no bound
		return true
	}
	var ok bool
	if e.permit, ok = l.TryAcquire(); !ok {
		e.refuse(w, wire.NewProblem(http.StatusServiceUnavailable, "", "the upstream is overloaded"))
		return false
	}
	e.outcome = adaptive.Ignored
	return true
}

// release gives the permit back. The measured latency excludes the time that a client takes to send its body, which
// says nothing about the upstream.
func (e *exchange) release(o adaptive.Outcome) {
	if e.body != nil {
		e.permit.Exclude(time.Duration(e.body.slow.Load()))
	}
	e.permit.Release(o)
	e.permit = nil
}

// ended records an upstream's response to a request with a permit.
func (e *exchange) ended(status int) {
	e.permit.Answered()
	if e.outcome = adaptive.Done; wire.Overloaded(status) {
		e.outcome = adaptive.Failed
	}
}

// bound sets the upstream's limiter to match its settings. If the settings change, requests in flight remain counted.
func (g *Gateway) bound(u *upstream) {
	now, before := u.InFlight, u.settings.Swap(u.InFlight)
	l := u.limiter.Load()
	switch {
	case now == nil && l != nil:
		u.overloaded.Add(uint64(l.Status().Denied))
		u.limiter.Store(nil)
	case now == nil:
	case l == nil:
		c := *now
		c.Moved = func(why string) {
			g.moves.Info(g.config.Logger, "limit on requests in flight has moved", "upstream", u.Name, "reason", why)
		}
		if l, err := adaptive.New(c); err == nil { // cannot fail for a checked file
			u.limiter.Store(l)
		}
	case before.Min != now.Min || before.Max != now.Max || before.Latency != now.Latency || before.DryRun != now.DryRun:
		_ = l.Configure(*now) // cannot fail for a checked file
	}
}
