package httplimit

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Response is the answer of a handler.
type Response struct {
	// Status is the status of the answer: 200 if the handler wrote none, 101 if it hijacked the connection, 500 if it
	// panicked before writing one. Answers written by handlers outside the middleware are visible only with the
	// adapters for gin, echo and fiber.
	Status int
	// Bytes is the number of body bytes sent, without headers: 0 for a HEAD. Bytes on a hijacked connection are not
	// counted.
	Bytes int64
	// Charged is the cost charged before the handler ran. If the policies of a route have different costs, it is the
	// cost of the first policy. With several charges, it is the highest.
	Charged int64
	// Header is the header of the answer, for its Retry-After. It can be nil.
	Header http.Header
}

// Rule returns the final cost of a request in units, 0 or more. If it is lower than the cost charged, the difference
// is given back. If it is higher, the difference is charged, or everything that the limit has left if that is less.
// With Debt a [headgate.TokenBucket] can owe the rest.
//
// With the routes of a policies file the final cost applies to each limit of the route: limits with their own cost
// are corrected to the same final cost. If a rule returns Response.Charged, nothing is corrected.
//
// Units are given back only to the window that they were charged to, and to a bucket only as far as it has not refilled
// them. Additional units are charged at the time of the answer.
type Rule func(r *http.Request, o Response) int64

// OnlyStatus counts only requests that were answered with one of these statuses.
func OnlyStatus(statuses ...int) Rule {
	return func(_ *http.Request, o Response) int64 { return o.chargedIf(slices.Contains(statuses, o.Status)) }
}

// ExceptStatus counts all requests except those answered with one of these statuses, such as 304.
func ExceptStatus(statuses ...int) Rule {
	return func(_ *http.Request, o Response) int64 { return o.chargedIf(!slices.Contains(statuses, o.Status)) }
}

// OnlyFailures counts requests answered with 400 to 499, such as wrong passwords. It does not count failures of the
// server itself (500 and above).
func OnlyFailures(_ *http.Request, o Response) int64 {
	return o.chargedIf(o.Status >= 400 && o.Status < 500)
}

// BytesWritten charges one unit for each byte of the answer's body. Because the charge comes when the answer ends,
// also set a limit of requests, or charge an estimate first with [WithCost].
func BytesWritten(_ *http.Request, o Response) int64 { return o.Bytes }

func (o *Response) chargedIf(counts bool) int64 {
	if counts {
		return o.Charged
	}
	return 0
}

// settleWithin bounds how long a hanging store can delay an answer.
const settleWithin = time.Second

// settling returns a context for correcting the charge of a request. It outlives the request's own context.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
}

// Settles reports whether a charge needs [Middleware.Settle]: for [WithFinalCost], or because a limit's rate adapts.
// Otherwise Settle does nothing, and the bytes of a response need not be counted.
func (m *Middleware) Settles(c *Charge) bool { return m.finalCost != nil || c.outcome != nil }

// Settle corrects the charge of a served request, and reports how it ended to limits whose rate adapts. The call to the
// store takes at most a second, and is made even if the request's context has ended. If the store does not answer, the
// first charge remains; an observer of the limiter sees the error.
func (m *Middleware) Settle(r *http.Request, c *Charge, o Response) {
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
	final := max(0, m.finalCost(r, o))
	if final != c.Units {
		_ = c.settle(ctx, final)
	}
}

// SettleAtEnd is [Middleware.Settle] for frameworks whose outer handlers can still write the answer after the
// middleware has returned. It settles when the request's context ends, which net/http does after the last handler, with
// the last response passed to note, or with first if there was none. If the context never ends, it settles at once.
func (m *Middleware) SettleAtEnd(r *http.Request, c *Charge, first Response) (note func(Response)) {
	if r.Context().Done() == nil {
		m.Settle(r, c, first)
		return func(Response) {}
	}
	var last atomic.Pointer[Response]
	last.Store(&first)
	context.AfterFunc(r.Context(), func() { m.Settle(r, c, *last.Load()) })
	return func(o Response) { last.Store(&o) }
}

// serveAndSettle runs the handler and settles, even if the handler panics.
func (m *Middleware) serveAndSettle(w http.ResponseWriter, r *http.Request, next http.Handler, c *Charge) {
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
