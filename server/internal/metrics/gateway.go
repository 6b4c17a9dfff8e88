package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/gateway"
)

// Gateway collects a gateway's metrics. Upstreams are labelled with their names from the policies file.
type Gateway struct {
	// Stats returns the counts.
	Stats func() gateway.Stats
}

var (
	gatewayInFlight  = desc("gateway_requests_in_flight", "Requests in the gateway, those that wait included.")
	gatewayWaiting   = desc("gateway_requests_waiting", "Requests that wait for the slots that pacers have given them.")
	gatewayAnswers   = desc("gateway_answers_total", "Answers of upstreams, by the class of their status.", "upstream", "class")
	gatewayFailures  = desc("gateway_failures_total", "Requests without an answer of their upstream: it was unavailable, it was slow, or the client ended the request.", "upstream", "reason")
	gatewayOverload  = desc("gateway_overloaded_total", "Requests that were refused because too many were in flight at their upstream.", "upstream")
	gatewayLimit     = desc("gateway_upstream_limit", "How many requests may be in flight at an upstream with in_flight.", "upstream")
	gatewaySuggested = desc("gateway_upstream_suggested", "The fixed limit that would have done about as well at an upstream with in_flight; 0 if its limit was never reached.", "upstream")
	gatewayDelayed   = desc("gateway_delayed_total", "Ends of delayed requests: served after the delay, left by the client, or denied because too many were waiting.", "result")
	gatewayUndone    = desc("gateway_undone_total", "Requests whose units were given back, and requests where the store failed to give them back.", "result")
	gatewayUnmatched = desc("gateway_unmatched_total", "Requests without a route.", "result")
	gatewayOverShare = desc("gateway_over_share_total", "Requests that were refused because their client address had its share: of those in the gateway, or of those that wait.", "bound")
	gatewayFull      = desc("gateway_full_total", "Requests that were refused because too many were in the gateway.")
)

// Describe implements [prometheus.Collector]. The series depend on the upstreams.
func (*Gateway) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector]. It omits an upstream's zero counts of answers and failures.
func (g *Gateway) Collect(to chan<- prometheus.Metric) {
	s := g.Stats()
	to <- gauge(gatewayInFlight, float64(s.InFlight))
	to <- gauge(gatewayWaiting, float64(s.Waiting))
	to <- counter(gatewayFull, float64(s.Full))
	to <- counter(gatewayOverShare, float64(s.InFlightOver), "in_flight")
	to <- counter(gatewayOverShare, float64(s.WaitingOver), "waiting")
	to <- counter(gatewayDelayed, float64(s.Waited), "served")
	to <- counter(gatewayDelayed, float64(s.Left), "left")
	to <- counter(gatewayDelayed, float64(s.QueueFull), "denied")
	to <- counter(gatewayUndone, float64(s.Undone), "ok")
	to <- counter(gatewayUndone, float64(s.UndoFailed), "error")
	to <- counter(gatewayUnmatched, float64(s.UnmatchedPassed), "passed")
	to <- counter(gatewayUnmatched, float64(s.UnmatchedDenied), "denied")
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if u.Limit > 0 {
			to <- gauge(gatewayLimit, float64(u.Limit), u.Name)
			to <- gauge(gatewaySuggested, float64(u.Suggest), u.Name)
			to <- counter(gatewayOverload, float64(u.Overloaded), u.Name)
		}
		for class, n := range u.Answers {
			if n > 0 {
				to <- counter(gatewayAnswers, float64(n), u.Name, strconv.Itoa(class)+"xx")
			}
		}
		for _, failure := range []struct {
			reason string
			n      uint64
		}{{"away", u.Away}, {"slow", u.Slow}, {"client", u.ClientGone}} {
			if failure.n > 0 {
				to <- counter(gatewayFailures, float64(failure.n), u.Name, failure.reason)
			}
		}
	}
}
