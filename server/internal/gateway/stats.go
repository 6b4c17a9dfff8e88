package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/policy/route"
)

// counters holds the counts for the whole gateway.
type counters struct {
	full, inFlightOver, waitingOver  atomic.Uint64
	waited, left, queueFull          atomic.Uint64
	undone, undoFailed               atomic.Uint64
	unmatchedPassed, unmatchedDenied atomic.Uint64
}

// upstream is an upstream with its counters.
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
	// Full counts requests refused because the gateway had its maximum number of requests in flight.
	Full uint64
	// InFlightOver and WaitingOver count requests refused because their client already had its share of the requests in
	// flight, or of the waiting requests.
	InFlightOver, WaitingOver uint64
	// Waited, Left and QueueFull count the outcomes of delayed requests: the slot came, the client disconnected or the
	// gateway stopped first, or too many requests were waiting, in total or from one client.
	Waited, Left, QueueFull uint64
	// Undone counts requests whose units were given back. UndoFailed counts requests whose units the store failed to
	// give back.
	Undone, UndoFailed uint64
	// UnmatchedPassed and UnmatchedDenied count requests without a route: those forwarded without a limit, and those
	// answered with 404.
	UnmatchedPassed, UnmatchedDenied uint64
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
	c := &g.stats
	s := Stats{
		InFlight: int64(g.inFlight.Held()), Waiting: int64(g.waiting.Held()),
		Full: c.full.Load(), InFlightOver: c.inFlightOver.Load(), WaitingOver: c.waitingOver.Load(),
		Waited: c.waited.Load(), Left: c.left.Load(), QueueFull: c.queueFull.Load(), Undone: c.undone.Load(), UndoFailed: c.undoFailed.Load(),
		UnmatchedPassed: c.unmatchedPassed.Load(), UnmatchedDenied: c.unmatchedDenied.Load(),
	}
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
