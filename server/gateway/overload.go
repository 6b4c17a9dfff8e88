package gateway

import (
	"net/http"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/httplimit"
)

// acquire takes a permit of an upstream that bounds its requests, before anything is charged. If too many are in
// flight there, it answers the request.
func (e *exchange) acquire(w http.ResponseWriter) bool {
	l := e.upstream.limiter.Load()
	if l == nil { // no bound
		return true
	}
	var ok bool
	if e.permit, ok = l.TryAcquire(); !ok {
		e.upstream.overloaded.Add(1)
		httplimit.RetryAfter(w.Header(), httplimit.OverloadWait())
		e.refuse(w, httplimit.NewProblem(http.StatusServiceUnavailable, "", "the upstream is overloaded"))
		return false
	}
	e.outcome = adaptive.Ignored
	return true
}

// release gives the permit back.
func (e *exchange) release(o adaptive.Outcome) {
	e.permit.Release(o)
	e.permit = nil
}

// ended records how the upstream answered a request with a permit.
func (e *exchange) ended(status int) {
	e.permit.Answered()
	if e.outcome = adaptive.Done; httplimit.Overloaded(status) {
		e.outcome = adaptive.Failed
	}
}

// bound sets the upstream's limiter to match its settings, and keeps the current one if the settings are the same.
func (u *upstream) bound() {
	now := u.InFlight
	if before := u.settings.Swap(now); before != nil && now != nil && before.Min == now.Min && before.Max == now.Max && before.Latency == now.Latency {
		return
	}
	if now == nil {
		u.limiter.Store(nil)
		return
	}
	if l, err := adaptive.New(*now); err == nil { // the file was checked
		u.limiter.Store(l)
	}
}
