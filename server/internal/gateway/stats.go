package gateway

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/metric"
)

// counts are the counts for the whole gateway: atomic.Uint64 while it runs, and uint64 in [Stats].
type counts[T any] struct {
	// Full counts requests refused because the gateway had its maximum number of requests in flight.
	Full T
	// InFlightOver and WaitingOver count requests refused because their client already had its share of the requests in
	// flight, or of the waiting requests.
	InFlightOver, WaitingOver T
	// Waited, Left and QueueFull count the outcomes of delayed requests: the slot came, the client disconnected or the
	// gateway stopped first, or too many requests were waiting, in total or from one client.
	Waited, Left, QueueFull T
	// Undone counts requests whose units were given back. UndoFailed counts requests whose units the store failed to
	// give back.
	Undone, UndoFailed T
	// UnmatchedPassed and UnmatchedDenied count requests without a route: those forwarded without a limit, and those
	// answered with 404.
	UnmatchedPassed, UnmatchedDenied T
}

type counters = counts[atomic.Uint64]

func load(c *counters) (now counts[uint64]) {
	from, to := reflect.ValueOf(c).Elem(), reflect.ValueOf(&now).Elem()
	for i := range to.NumField() {
		to.Field(i).SetUint(from.Field(i).Addr().Interface().(*atomic.Uint64).Load())
	}
	return now
}

type upstream struct {
	*route.Upstream
	*upstreamCounters
}

type upstreamCounters struct {
	classes    [6]atomic.Uint64 // answers by the first digit of their status
	away, slow atomic.Uint64
	clientGone atomic.Uint64
	overloaded atomic.Uint64 // denials by limiters that have been removed
	limiter    atomic.Pointer[adaptive.Limiter]
	settings   atomic.Pointer[adaptive.Config] // the limiter's settings
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

// Stats holds a gateway's counts.
type Stats struct {
	// InFlight is the number of requests in the gateway now. Waiting is the number of these that wait for a pacer's
	// slot.
	InFlight, Waiting int64
	counts[uint64]
	// Upstreams contains the counts of each upstream, sorted by name.
	Upstreams []UpstreamStats
}

// UpstreamStats holds the counts of one upstream.
type UpstreamStats struct {
	Name string
	// Answers counts the upstream's responses. The index is the first digit of their status.
	Answers [6]uint64
	// Away counts requests that the gateway answered with 502, because the upstream could not be reached or closed the
	// connection. Slow counts requests answered with 504, because the upstream did not answer in time.
	Away, Slow uint64
	// ClientGone counts requests that failed because the client disconnected or did not send its whole body in time, or
	// because the gateway stopped.
	ClientGone uint64
	// Overloaded counts requests answered with 503 because too many were in flight at the upstream. In a dry run, these
	// requests passed. Limit is the current bound on requests in flight, or 0 if the upstream has none. Suggest is the
	// fixed bound that would have done about as well, or 0 if the bound was never reached.
	Overloaded     uint64
	Limit, Suggest int
}

// Stats returns the counts.
func (g *Gateway) Stats() Stats {
	s := Stats{InFlight: int64(g.inFlight.Held()), Waiting: int64(g.waiting.Held()), counts: load(&g.stats)}
	g.upstreams.Range(func(name, value any) bool {
		u := value.(*upstream)
		one := UpstreamStats{Name: name.(string), Away: u.away.Load(), Slow: u.slow.Load(), ClientGone: u.clientGone.Load(), Overloaded: u.overloaded.Load()}
		if l := u.limiter.Load(); l != nil {
			status := l.Status()
			one.Limit, one.Suggest = status.Limit, status.Suggest
			one.Overloaded += uint64(status.Denied)
		}
		for i := range u.classes {
			one.Answers[i] = u.classes[i].Load()
		}
		s.Upstreams = append(s.Upstreams, one)
		return true
	})
	slices.SortFunc(s.Upstreams, func(a, b UpstreamStats) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Metrics are the metrics of a gateway. Upstreams are labelled with their names from the policies file. An upstream's
// zero counts of answers and failures are omitted.
var Metrics = metric.NewTable(
	metric.Row[Stats]{
		Name:  "headgate_gateway_requests_in_flight",
		Help:  "Requests in the gateway, those that wait included.",
		Value: func(s Stats) float64 { return float64(s.InFlight) },
	},
	metric.Row[Stats]{
		Name:  "headgate_gateway_requests_waiting",
		Help:  "Requests that wait for the slots that pacers have given them.",
		Value: func(s Stats) float64 { return float64(s.Waiting) },
	},
	metric.Row[Stats]{
		Name:  "headgate_gateway_full_total",
		Help:  "Requests that were refused because too many were in the gateway.",
		Value: func(s Stats) float64 { return float64(s.Full) },
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_over_share_total", Labels: []string{"bound"},
		Help: "Requests that were refused because their client address had its share: of those in the gateway, or of those that wait.",
		Series: func(s Stats, add func(float64, ...string)) {
			add(float64(s.InFlightOver), "in_flight")
			add(float64(s.WaitingOver), "waiting")
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_delayed_total", Labels: []string{"result"},
		Help: "Ends of delayed requests: served after the delay, left by the client, or denied because too many were waiting.",
		Series: func(s Stats, add func(float64, ...string)) {
			add(float64(s.Waited), "served")
			add(float64(s.Left), "left")
			add(float64(s.QueueFull), "denied")
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_undone_total", Labels: []string{"result"},
		Help: "Requests whose units were given back, and requests where the store failed to give them back.",
		Series: func(s Stats, add func(float64, ...string)) {
			add(float64(s.Undone), "ok")
			add(float64(s.UndoFailed), "error")
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_unmatched_total", Labels: []string{"result"},
		Help: "Requests without a route, and preflights.",
		Series: func(s Stats, add func(float64, ...string)) {
			add(float64(s.UnmatchedPassed), "passed")
			add(float64(s.UnmatchedDenied), "denied")
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_answers_total", Labels: []string{"upstream", "class"},
		Help: "Answers of upstreams, by the class of their status.",
		Series: func(s Stats, add func(float64, ...string)) {
			for i := range s.Upstreams {
				u := &s.Upstreams[i]
				for class, n := range u.Answers {
					if n > 0 {
						add(float64(n), u.Name, strconv.Itoa(class)+"xx")
					}
				}
			}
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_failures_total", Labels: []string{"upstream", "reason"},
		Help: "Requests without an answer of their upstream: it was unavailable, it was slow, or the client ended the request.",
		Series: func(s Stats, add func(float64, ...string)) {
			for i := range s.Upstreams {
				u := &s.Upstreams[i]
				for reason, n := range map[string]uint64{"away": u.Away, "slow": u.Slow, "client": u.ClientGone} {
					if n > 0 {
						add(float64(n), u.Name, reason)
					}
				}
			}
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_overloaded_total", Labels: []string{"upstream"},
		Help: "Requests that were refused because too many were in flight at their upstream.",
		Series: func(s Stats, add func(float64, ...string)) {
			for i := range s.Upstreams {
				u := &s.Upstreams[i]
				if u.Limit > 0 {
					add(float64(u.Overloaded), u.Name)
				}
			}
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_upstream_limit", Labels: []string{"upstream"},
		Help: "How many requests may be in flight at an upstream with in_flight.",
		Series: func(s Stats, add func(float64, ...string)) {
			for i := range s.Upstreams {
				u := &s.Upstreams[i]
				if u.Limit > 0 {
					add(float64(u.Limit), u.Name)
				}
			}
		},
	},
	metric.Row[Stats]{
		Name: "headgate_gateway_upstream_suggested", Labels: []string{"upstream"},
		Help: "The fixed limit that would have done about as well at an upstream with in_flight; 0 if its limit was never reached.",
		Series: func(s Stats, add func(float64, ...string)) {
			for i := range s.Upstreams {
				u := &s.Upstreams[i]
				if u.Limit > 0 {
					add(float64(u.Suggest), u.Name)
				}
			}
		},
	},
)
