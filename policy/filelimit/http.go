package filelimit

import (
	"cmp"
	"context"
	"net/http"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
)

// AllowRequest charges an HTTP request to all policies of its route, or to none. A request that matches no route is
// allowed, with an Unlimited decision. The error for a path with empty segments, or with the segments ., .. or ;x, in any
// encoding, is an [*engine.InputError], because routers differ on what such a path means. If a part of the key is missing
// or cannot be read, and the route does not skip such requests, the error is an [*httplimit.NoKeyError].
func (l *Limiter) AllowRequest(r *http.Request) (headgate.Decision, error) {
	a, err := l.ofHTTP(r, false, false)
	return a.Decision, err
}

// ChargeRequest decides like AllowRequest, for the middleware in package httplimit. The answer reports the cost of the
// route's first policy or, for several charges, the highest cost, even if the request is denied. The cost is 0 if the
// request matches no route or lacks its key.
//
// The answer's Settle function corrects the charge on each limit of the route, including shadows, to a final number of
// units, 0 or more, when the response is known. It gives excess units back, and charges missing units even beyond the
// limit. Settle is nil if the request has no limits, if it was not charged, or if the settles argument is false and no
// limit delays the request. It returns the same errors as [headgate.Policy].
func (l *Limiter) ChargeRequest(r *http.Request, settles bool) (httplimit.Answer, error) {
	return l.ofHTTP(r, settles, true)
}

func (l *Limiter) ofHTTP(r *http.Request, settled, undoable bool) (a httplimit.Answer, err error) {
	if err := l.unusable(); err != nil {
		return a, err
	}
	table := l.config.Load().Routes
	switch {
	case len(table.Routes()) == 0:
		return a, errNoRoutes
	case r == nil || r.URL == nil:
		return a, errNoRequest
	}
	request, err := route.FromHTTP(r)
	if err == nil {
		request.AnyCase = wire.IsAnyCase(r)
		err = cmp.Or(table.CheckRead(&request), route.CheckEmptySegments(request.Path))
	}
	if err != nil {
		return a, err
	}
	m, ok := table.Find(&request)
	switch {
	case !ok:
		a.Decision.Allowed, a.Decision.Unlimited = true, true
		return a, nil
	case m.NoKey != nil:
		return a, m.NoKey
	}
	return l.matched(r.Context(), &m, settled, undoable)
}

func (l *Limiter) matched(ctx context.Context, m *route.Match, settled, undoable bool) (a httplimit.Answer, err error) {
	request := decide.Routed(m)
	request.Settled, request.Undoable = settled, undoable
	l.do(ctx, &request, func(response *decide.Response) {
		err = response.Err
		a = httplimit.Answer{Decision: Decision(response), Cost: response.Cost, Style: response.Style(), Outcome: response.Outcome}
		if response.Count() > 1 || response.Unit != "" {
			a.Limits = response.HeaderLimits()
		}
		if err == nil && !response.Allowed {
			a.CountedBy = request.CountedBy(response)
		}
		if response.Charged != nil {
			a.Settle = response.Charged.Settle
		}
	})
	return a, err
}
