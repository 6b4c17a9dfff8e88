package httplimit

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Response is a handler's response.
type Response struct {
	// Status is the status of the response: 200 if the handler wrote none, 101 if it hijacked the connection, 500 if
	// it panicked before writing one. Responses that handlers outside the middleware write are visible only with the
	// adapters for gin, echo and fiber.
	Status int
	// Bytes is the number of body bytes sent: 0 for a HEAD request. Headers and bytes on a hijacked connection are not
	// counted.
	Bytes int64
	// Charged is the cost charged before the handler ran. If the policies of a route have different costs, it is the
	// cost of the first policy. If the route has several charges, it is the highest.
	Charged int64
	// Header is the response's header, for its Retry-After. It can be nil.
	Header http.Header
}

// FinalCost returns the final cost of a request in units, 0 or more; a negative number corrects nothing. If it is lower
// than the cost charged, the difference is given back. If it is higher, the difference is charged or, if fewer units are
// left, all that are left. A [headgate.TokenBucket] with Debt can owe the rest.
//
// If the request is decided by a route in a policies file, the final cost applies to every limit of the route, even to
// limits with their own cost. If a rule returns Response.Charged, nothing is corrected.
//
// Units are given back only to the window that they were charged to, and to a bucket only if it has not refilled them
// yet. Additional units are charged at the time of the response.
type FinalCost func(r *http.Request, o Response) int64

// OnlyStatus counts only requests whose response has one of these statuses.
func OnlyStatus(statuses ...int) FinalCost {
	return func(_ *http.Request, o Response) int64 { return o.chargedIf(slices.Contains(statuses, o.Status)) }
}

// ExceptStatus counts all requests except those whose response has one of these statuses, such as 304.
func ExceptStatus(statuses ...int) FinalCost {
	return func(_ *http.Request, o Response) int64 { return o.chargedIf(!slices.Contains(statuses, o.Status)) }
}

// OnlyFailures counts requests whose response has a status from 400 to 499, such as attempts with a wrong password. It
// does not count server errors (500 and above).
func OnlyFailures(_ *http.Request, o Response) int64 {
	return o.chargedIf(o.Status >= 400 && o.Status < 500)
}

// BytesWritten charges one unit for each byte of the response's body. Because the charge is made when the response
// ends, also limit the number of requests, or first charge an estimate with [WithCost].
func BytesWritten(_ *http.Request, o Response) int64 { return o.Bytes }

func (o *Response) chargedIf(counts bool) int64 {
	if counts {
		return o.Charged
	}
	return 0
}

// settleWithin bounds how long a hanging store can delay a response.
const settleWithin = time.Second

// settling returns a context for settling a request. It outlives the request's own context.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
}

// Settles reports whether a charge needs [Middleware.Settle], because of [WithFinalCost], a limit with an adaptive rate, or
// an [Answer].Done. Otherwise Settle does nothing, and the bytes of the response do not have to be counted.
func (m *Middleware) Settles(c *Admission) bool {
	return m != nil && c != nil && (m.finalCost != nil || c.outcome != nil || c.done != nil)
}

// Settle corrects the charge of a served request, and reports its outcome to limits with adaptive rates. The call to
// the store takes at most a second, and is made even if the request's context has ended. If the store does not answer,
// the first charge stays, and the limiter's observer receives the error.
func (m *Middleware) Settle(r *http.Request, c *Admission, o Response) {
	if !m.Settles(c) {
		return
	}
	if c.done != nil {
		defer c.done()
	}
	if c.outcome != nil {
		c.outcome(Outcome(o.Status, o.Header))
	}
	if m.finalCost == nil || c.settle == nil || !c.Decision.Allowed {
		return
	}
	o.Charged = c.Units
	if r.Method == http.MethodHead {
		o.Bytes = 0 // the server drops the body
	}
	ctx, cancel := settling(r.Context())
	defer cancel()
	if final := m.finalCost(r, o); final >= 0 && final != c.Units {
		_ = c.settle(ctx, final)
	}
}

// SettleAtEnd is like [Middleware.Settle], for frameworks whose outer handlers can still write the response after the
// middleware has returned. It settles in the background when the request's context ends, because until then the bytes
// of the response are not known; the client's next request can come first. It uses the last response passed to note, or
// else first. If the context can never end, or the response does not matter, as of [InFlight], it settles immediately.
func (m *Middleware) SettleAtEnd(r *http.Request, c *Admission, first Response) (note func(Response)) {
	if r.Context().Done() == nil || !m.usesResponse(c) {
		m.Settle(r, c, first)
		return func(Response) {}
	}
	var last atomic.Pointer[Response]
	last.Store(&first)
	context.AfterFunc(r.Context(), func() { m.Settle(r, c, *last.Load()) })
	return func(o Response) { last.Store(&o) }
}

// usesResponse reports whether Settle depends on the response.
func (m *Middleware) usesResponse(c *Admission) bool {
	return m.Settles(c) && (c.outcome != nil || m.finalCost != nil && c.settle != nil)
}

// serveAndSettle runs the handler and settles, even if the handler panics.
func (m *Middleware) serveAndSettle(w http.ResponseWriter, r *http.Request, next http.Handler, c *Admission) {
	recorder := &recorder{writer: w}
	returned := false
	defer func() {
		o := recorder.response(returned)
		o.Header = w.Header()
		m.Settle(r, c, o)
	}()
	next.ServeHTTP(recorder.like(w), r)
	returned = true
}
