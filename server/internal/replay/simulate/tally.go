package simulate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// RouteReport holds the results for one route.
type RouteReport struct {
	Index    int                  `json:"index"`
	Match    string               `json:"match"`
	Charges  []policy.RouteCharge `json:"charge"`
	Requests int64                `json:"requests"`
	Admitted int64                `json:"admitted"`
	Denied   int64                `json:"denied"`
	// NoKey is the number of denied requests without a key.
	NoKey int64 `json:"no_key,omitempty"`
	// Delayed is the number of admitted requests that a pacer would have delayed.
	Delayed int64 `json:"delayed,omitempty"`
}

// PolicyReport holds the results for one policy.
type PolicyReport struct {
	Name   string   `json:"name"`
	Limits []string `json:"limits"`
	// Requests is the number of requests charged to the policy. Denied is the number of requests that this policy
	// itself denied. The route's other policies may have denied more.
	Requests int64 `json:"requests"`
	Denied   int64 `json:"denied"`
	// FirstDenied and LastDenied are in µs since 1970.
	FirstDenied int64 `json:"first_denied_us,omitempty"`
	LastDenied  int64 `json:"last_denied_us,omitempty"`
	// ShadowAsked is the number of requests that the policy's shadow decided, and ShadowDenied is the number that it
	// would have denied.
	ShadowAsked  int64 `json:"shadow_asked,omitempty"`
	ShadowDenied int64 `json:"shadow_denied,omitempty"`
	// NotHeld is true for a concurrency policy: a log does not contain when its requests ended, so none holds a permit.
	NotHeld bool `json:"permits_not_held,omitempty"`
}

// tally counts the answers by route, policy and key.
type tally struct {
	keys     keys
	routes   []RouteReport
	policies []PolicyReport
	places   map[string]int // indices of policies by name
	charged  [][]int        // for each route, the indices of its policies

	requests, unmatched, denied, failed int64
	firstError                          string
	already                             int64 // requests with status 429 in the log
}

func newTally(c *policy.Config, mostKeys int) *tally {
	t := &tally{keys: newKeys(mostKeys), places: map[string]int{}}
	for i, p := range c.Policies.Summaries() {
		t.places[p.Name] = i
		report := PolicyReport{Name: p.Name, Limits: p.Limits}
		if own, ok := c.Policies.Get(p.Name); ok {
			report.NotHeld = slices.ContainsFunc(own.Charges(nil, "", 1), func(c policy.Charge) bool { return c.Limit.Algorithm().Holds() })
		}
		t.policies = append(t.policies, report)
	}
	for i, r := range c.Routes.Routes() {
		t.routes = append(t.routes, routeReport(i, &r))
		var places []int
		for name := range r.Policies() {
			places = append(places, t.places[name])
		}
		t.charged = append(t.charged, places)
	}
	return t
}

func routeReport(i int, r *route.Route) RouteReport {
	report := RouteReport{Index: i, Match: r.Match.String()}
	for j := range r.Charges {
		report.Charges = append(report.Charges, policy.SummarizeCharge(&r.Charges[j]))
	}
	return report
}

// Keys returns the parts of the keys that the route's requests are charged to, with semicolons between keys.
func (r *RouteReport) Keys() string {
	keys := make([]string, len(r.Charges))
	for i := range r.Charges {
		keys[i] = strings.Join(r.Charges[i].Key, ", ")
	}
	return strings.Join(keys, "; ")
}

func (t *tally) add(q *accesslog.Request, a *Answer) {
	t.requests++
	if q.Status == 429 {
		t.already++
	}
	denied := !a.Allowed && a.Err == nil
	if a.Err != nil {
		t.failed++
		if t.firstError == "" {
			t.firstError = a.Err.Error()
		}
	}
	if denied {
		t.denied++
	}
	if a.Route < 0 {
		t.unmatched++
		return
	}
	t.addRoute(q, a)
	for i := range a.items {
		t.keys.add(q, a, i)
	}
}

// addRoute counts an answer for its route and the route's policies.
func (t *tally) addRoute(q *accesslog.Request, a *Answer) {
	r := &t.routes[a.Route]
	r.Requests++
	switch {
	case a.Err != nil:
	case a.Allowed:
		r.Admitted++
		if a.Delay > 0 {
			r.Delayed++
		}
	default:
		r.Denied++
	}
	if a.items == nil {
		r.NoKey++
		return
	}
	for _, place := range t.charged[a.Route] {
		t.policies[place].Requests++
	}
	if place, ok := t.places[a.Policy]; ok && !a.Allowed && a.Err == nil {
		p := &t.policies[place]
		if p.Denied == 0 {
			p.FirstDenied = q.Time
		}
		p.Denied++
		p.LastDenied = q.Time
	}
}

// busiest sorts the policies for display, with the most denials first.
func busiest(all []PolicyReport) []PolicyReport {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b PolicyReport) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
	return sorted
}
