package policy

import (
	"net/http"
	"strings"

	"github.com/headgate/headgate/policy/route"
)

// maxTried is the maximum number of non-matching routes that an explanation lists.
const maxTried = 100

// Explanation describes what happens to an HTTP request, and why, for `headgate explain` and other tools. Explaining a
// request does not decide it.
type Explanation struct {
	// Host, Path and Client come from the request, in the form that routes compare.
	Host   string `json:"host"`
	Path   string `json:"path"`
	Client string `json:"client,omitempty"`
	// Route is the matching route. It is nil if the request is refused before, and if no route matches: the request is
	// then not limited.
	Route *RouteSummary `json:"route"`
	// Charges are the charges of the route. If a part of a key has no value, or an upstream may read the request in
	// another way, the request is denied: Denied is true, nothing is charged, and the response contains Status and Reason.
	Charges []ChargeSummary `json:"charges,omitempty"`
	Denied  bool            `json:"denied"`
	Status  int             `json:"status,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// Tried lists at most 100 routes that were tried earlier and did not match. More is the number of such routes that
	// are not listed.
	Tried []TriedSummary `json:"tried,omitempty"`
	More  int            `json:"more,omitempty"`
}

// RouteSummary describes a route as text.
type RouteSummary struct {
	Index    int           `json:"index"`
	Line     int           `json:"line"`
	Match    string        `json:"match"`
	Charges  []RouteCharge `json:"charge"`
	EmptyKey string        `json:"empty_key"`
	Status   int           `json:"empty_key_status,omitempty"`
	Class    string        `json:"class,omitempty"`
	Upstream string        `json:"upstream,omitempty"`
	Refund   bool          `json:"refund_on_error,omitempty"`
}

// RouteCharge describes a charge of a route as text.
type RouteCharge struct {
	Policies []string `json:"policies"`
	Key      []string `json:"key"`
	Cost     string   `json:"cost,omitempty"`
}

// String describes the charge on one line.
func (c *RouteCharge) String() string {
	text := strings.Join(c.Policies, ", ") + " by " + strings.Join(c.Key, ", ")
	if c.Cost != "" {
		text += " (cost " + c.Cost + ")"
	}
	return text
}

// ChargeSummary is one charge of a request.
type ChargeSummary struct {
	// Key is the key that the request is counted under, and Parts are its parts.
	Key   string        `json:"key,omitempty"`
	Parts []PartSummary `json:"parts"`
	// Limits are the limits charged under the key.
	Limits []LimitSummary `json:"limits,omitempty"`
}

// PartSummary is one part of a key.
type PartSummary struct {
	Source string `json:"source"`
	Value  string `json:"value"`
}

// LimitSummary is one limit charged by a request.
type LimitSummary struct {
	Policy string `json:"policy"`
	Limit  string `json:"limit"`
	Cost   int64  `json:"cost"`
	// Class is the class whose limit applies. It is omitted for a policy without classes.
	Class    string `json:"class,omitempty"`
	Override bool   `json:"override"`
	Shadow   bool   `json:"shadow"`
}

// TriedSummary is a route that did not match, with the first condition that was not met.
type TriedSummary struct {
	Index     int    `json:"index"`
	Line      int    `json:"line"`
	Condition string `json:"condition"`
	Wanted    string `json:"wanted"`
	Got       string `json:"got"`
}

// Explain describes what would happen to a request, and why.
func (c *Config) Explain(r *route.Request) Explanation {
	found := c.Routes.Explain(r, maxTried)
	e := Explanation{Host: found.Host, Path: found.Path, Client: found.Client, More: found.More}
	if err := c.Routes.Check(r); err != nil {
		e.Denied, e.Status, e.Reason = true, http.StatusBadRequest, err.Error()
		return e
	}
	for i := range found.Tried {
		tried := &found.Tried[i]
		e.Tried = append(e.Tried, TriedSummary{
			Index: tried.Index, Line: tried.Route.Line, Condition: string(tried.Condition), Wanted: tried.Wanted, Got: tried.Got,
		})
	}
	m := found.Match
	if m == nil {
		return e
	}
	summary := summarize(m.Route, m.Index)
	e.Route = &summary
	for i, values := range found.Parts {
		charge := ChargeSummary{}
		for j, value := range values {
			charge.Parts = append(charge.Parts, PartSummary{Source: summary.Charges[i].Key[j], Value: value})
		}
		if m.NoKey == nil {
			charge.Key = m.Items[i].Key
			charge.Limits = c.limits(&m.Route.Charges[i], &m.Items[i], m.Class)
		}
		e.Charges = append(e.Charges, charge)
	}
	if m.NoKey != nil {
		e.Denied, e.Status, e.Reason = true, m.NoKey.Status, m.NoKey.Detail()
	}
	return e
}

// limits describes the limits of one charge of a request.
func (c *Config) limits(charge *route.Charge, item *route.Item, class string) (all []LimitSummary) {
	limits, _ := c.Policies.ForRoute(nil, charge, item, item.Key)
	Classify(limits, class, item.Key)
	for i := range limits {
		l := &limits[i]
		all = append(all, LimitSummary{Policy: l.Policy, Limit: l.Limit.String(), Cost: l.Cost, Class: l.Class, Override: l.Override, Shadow: l.Shadow})
	}
	return all
}

// RouteSummaries describes all routes in order.
func (c *Config) RouteSummaries() []RouteSummary {
	routes := c.Routes.Routes()
	all := make([]RouteSummary, len(routes))
	for i := range routes {
		all[i] = summarize(&routes[i], i)
	}
	return all
}

func summarize(r *route.Route, index int) RouteSummary {
	s := RouteSummary{Index: index, Line: r.Line, Match: r.Match.String(), EmptyKey: "deny", Status: r.EmptyKeyStatus, Class: r.Class.String()}
	if s.Refund = r.RefundOnError; r.Upstream != nil {
		s.Upstream = r.Upstream.Name
	}
	if r.Skip {
		s.EmptyKey = "skip"
	}
	for i := range r.Charges {
		s.Charges = append(s.Charges, SummarizeCharge(&r.Charges[i]))
	}
	return s
}

// SummarizeCharge describes a charge of a route.
func SummarizeCharge(c *route.Charge) RouteCharge {
	return RouteCharge{Policies: c.Policies, Key: keyOf(c), Cost: c.Cost.String()}
}

func keyOf(c *route.Charge) (parts []string) {
	for i := range c.Key {
		parts = append(parts, c.Key[i].String())
	}
	return parts
}
