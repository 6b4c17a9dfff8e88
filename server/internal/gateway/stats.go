package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/metric"
)

// counters are the counts for the whole gateway.
type counters struct {
	// Full counts requests refused because the gateway had its maximum number of requests in flight.
	Full atomic.Uint64
	// InFlightOver and WaitingOver count requests refused because their client already had its share of the requests in
	// flight, or of the waiting requests.
	InFlightOver, WaitingOver atomic.Uint64
	// Waited, Left and QueueFull count the outcomes of delayed requests: the slot came, the client disconnected or the
	// gateway stopped first, or too many requests were waiting, in total or from one client.
	Waited, Left, QueueFull atomic.Uint64
	// Undone counts requests whose units were given back. UndoFailed counts requests whose units the store failed to
	// give back.
	Undone, UndoFailed atomic.Uint64
	// UnmatchedPassed and UnmatchedDenied count requests without a route: those forwarded without a limit, and those
	// answered with 404.
	UnmatchedPassed, UnmatchedDenied atomic.Uint64
}

type upstream struct {
	*route.Upstream
	*upstreamCounters
}

type upstreamCounters struct {
	classes [6]atomic.Uint64 // answers by the first digit of their status
	// away counts requests that the gateway answered with 502, because the upstream could not be reached or closed the
	// connection, and slow those answered with 504, because the upstream did not answer in time. clientGone counts
	// requests that failed because the client disconnected or did not send its whole body in time, or because the
	// gateway stopped.
	away, slow, clientGone atomic.Uint64
	overloaded             atomic.Uint64 // denials by limiters that have been removed
	limiter                atomic.Pointer[adaptive.Limiter]
	settings               atomic.Pointer[adaptive.Config] // the limiter's settings
}

func (c *upstreamCounters) class(status int) { c.classes[min(status/100, 5)].Add(1) }

func (c *upstreamCounters) failure(status int) {
	if status == http.StatusGatewayTimeout {
		c.slow.Add(1)
		return
	}
	c.away.Add(1)
}

// counted returns an upstream together with its counters.
func (g *Gateway) counted(u *route.Upstream) *upstream {
	if known, ok := g.upstreams.Load(u.Name); ok {
		if known := known.(*upstream); known.Upstream == u {
			return known
		}
		return &upstream{u, known.(*upstream).upstreamCounters} // for a request under the previous file
	}
	first := &upstream{u, new(upstreamCounters)}
	g.bound(first)
	known, _ := g.upstreams.LoadOrStore(u.Name, first)
	return &upstream{u, known.(*upstream).upstreamCounters}
}

// Keep applies the settings of the upstreams that routes name, and drops the counters of other upstreams, so that a
// gateway has no more upstreams than its file.
func (g *Gateway) Keep(routes []route.Route) {
	for _, r := range routes {
		if r.Upstream != nil {
			g.keep(r.Upstream)
		}
	}
	g.upstreams.Range(func(name, _ any) bool {
		named := func(r route.Route) bool { return r.Upstream != nil && r.Upstream.Name == name }
		if name != DefaultUpstream && !slices.ContainsFunc(routes, named) {
			g.upstreams.Delete(name)
		}
		return true
	})
}

func (g *Gateway) keep(u *route.Upstream) {
	next := g.counted(u)
	g.bound(next)
	g.upstreams.Store(u.Name, next)
}

// Metrics are the metrics of a gateway. Upstreams are labelled with their names from the policies file.
var Metrics = metric.NewTable(
	metric.Row[*Gateway]{
		Name:  "headgate_gateway_requests_in_flight",
		Help:  "Requests in the gateway, those that wait included.",
		Value: func(g *Gateway) float64 { return float64(g.inFlight.Held()) },
	},
	metric.Row[*Gateway]{
		Name:  "headgate_gateway_requests_waiting",
		Help:  "Requests that wait for the slots that pacers have given them.",
		Value: func(g *Gateway) float64 { return float64(g.waiting.Held()) },
	},
	metric.Row[*Gateway]{
		Name:  "headgate_gateway_full_total",
		Help:  "Requests that were refused because too many were in the gateway.",
		Value: func(g *Gateway) float64 { return float64(g.stats.Full.Load()) },
	},
	metric.Row[*Gateway]{
		Name: "headgate_gateway_over_share_total", Labels: []string{"bound"},
		Help: "Requests that were refused because their client address had its share: of those in the gateway, or of those that wait.",
		Series: func(g *Gateway, add func(float64, ...string)) {
			add(float64(g.stats.InFlightOver.Load()), "in_flight")
			add(float64(g.stats.WaitingOver.Load()), "waiting")
		},
	},
	metric.Row[*Gateway]{
		Name: "headgate_gateway_delayed_total", Labels: []string{"result"},
		Help: "Ends of delayed requests: served after the delay, left by the client, or denied because too many were waiting.",
		Series: func(g *Gateway, add func(float64, ...string)) {
			add(float64(g.stats.Waited.Load()), "served")
			add(float64(g.stats.Left.Load()), "left")
			add(float64(g.stats.QueueFull.Load()), "denied")
		},
	},
	metric.Row[*Gateway]{
		Name: "headgate_gateway_undone_total", Labels: []string{"result"},
		Help: "Requests whose units were given back, and requests where the store failed to give them back.",
		Series: func(g *Gateway, add func(float64, ...string)) {
			add(float64(g.stats.Undone.Load()), "ok")
			add(float64(g.stats.UndoFailed.Load()), "error")
		},
	},
	metric.Row[*Gateway]{
		Name: "headgate_gateway_unmatched_total", Labels: []string{"result"},
		Help: "Requests without a route, and preflights.",
		Series: func(g *Gateway, add func(float64, ...string)) {
			add(float64(g.stats.UnmatchedPassed.Load()), "passed")
			add(float64(g.stats.UnmatchedDenied.Load()), "denied")
		},
	},
	ofUpstreams("headgate_gateway_answers_total", "Answers of upstreams, by the class of their status.", "class", func(c *upstreamCounters, add func(uint64, string)) {
		for class := range c.classes {
			add(c.classes[class].Load(), strconv.Itoa(class)+"xx")
		}
	}),
	ofUpstreams("headgate_gateway_failures_total", "Requests without an answer of their upstream: it was unavailable, it was slow, or the client ended the request.", "reason", func(c *upstreamCounters, add func(uint64, string)) {
		add(c.away.Load(), "away")
		add(c.slow.Load(), "slow")
		add(c.clientGone.Load(), "client")
	}),
	ofLimiters("headgate_gateway_overloaded_total", "Requests that were refused because too many were in flight at their upstream.", func(c *upstreamCounters, s adaptive.Status) float64 {
		return float64(c.overloaded.Load()) + float64(s.Denied)
	}),
	ofLimiters("headgate_gateway_upstream_limit", "How many requests may be in flight at an upstream with in_flight.", func(_ *upstreamCounters, s adaptive.Status) float64 {
		return float64(s.Limit)
	}),
	ofLimiters("headgate_gateway_upstream_suggested", "The fixed limit that would have done about as well at an upstream with in_flight; 0 if its limit was never reached.", func(_ *upstreamCounters, s adaptive.Status) float64 {
		return float64(s.Suggest)
	}),
)

// ofUpstreams returns a metric with the counts of each upstream by a label. Zero counts are omitted.
func ofUpstreams(name, help, label string, counts func(c *upstreamCounters, add func(n uint64, label string))) metric.Row[*Gateway] {
	return metric.Row[*Gateway]{Name: name, Help: help, Labels: []string{"upstream", label}, Series: func(g *Gateway, add func(float64, ...string)) {
		for name, u := range g.upstreams.Range {
			counts(u.(*upstream).upstreamCounters, func(n uint64, label string) {
				if n > 0 {
					add(float64(n), name.(string), label)
				}
			})
		}
	}}
}

// ofLimiters returns a metric of the upstreams that bound their requests in flight.
func ofLimiters(name, help string, value func(*upstreamCounters, adaptive.Status) float64) metric.Row[*Gateway] {
	return metric.Row[*Gateway]{Name: name, Help: help, Labels: []string{"upstream"}, Series: func(g *Gateway, add func(float64, ...string)) {
		for name, u := range g.upstreams.Range {
			c := u.(*upstream).upstreamCounters
			if l := c.limiter.Load(); l != nil {
				add(value(c, l.Status()), name.(string))
			}
		}
	}}
}
