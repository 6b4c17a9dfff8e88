package policy

import "github.com/headgate/headgate/policy/route"

// maxTried is how many routes that did not match an explanation lists.
const maxTried = 100

// Explanation says what happens to an HTTP request, and why, for `headgate explain` and
// other tools. Nothing is decided.
type Explanation struct {
	// Host, Path and Client are the request as routes compare it.
	Host   string `json:"host"`
	Path   string `json:"path"`
	Client string `json:"client,omitempty"`
	// Route is the route that was found; nil if none was. The request is then not limited.
	Route *RouteSummary `json:"route"`
	// Key is what the request is counted under, and Parts are its parts. A part without a
	// value denies the request: Denied is then true, nothing is charged, and the answer has the
	// Status and says the Reason.
	Key    string        `json:"key,omitempty"`
	Parts  []PartSummary `json:"parts,omitempty"`
	Denied bool          `json:"denied"`
	Status int           `json:"status,omitempty"`
	Reason string        `json:"reason,omitempty"`
	// Limits are those that the request is charged on.
	Limits []ChargeSummary `json:"limits,omitempty"`
	// Tried are the routes before that did not match, at most 100. More is how many others
	// there are.
	Tried []TriedSummary `json:"tried,omitempty"`
	More  int            `json:"more,omitempty"`
}

// RouteSummary describes a route as text.
type RouteSummary struct {
	Index    int      `json:"index"`
	Line     int      `json:"line"`
	Match    string   `json:"match"`
	Key      []string `json:"key"`
	EmptyKey string   `json:"empty_key"`
	Status   int      `json:"empty_key_status,omitempty"`
	Cost     string   `json:"cost,omitempty"`
	Policies []string `json:"policies"`
	Upstream string   `json:"upstream,omitempty"`
	Refund   bool     `json:"refund_on_error,omitempty"`
}

// PartSummary is one part of a key.
type PartSummary struct {
	Source string `json:"source"`
	Value  string `json:"value"`
}

// ChargeSummary is one limit that a request is charged on.
type ChargeSummary struct {
	Policy   string `json:"policy"`
	Limit    string `json:"limit"`
	Cost     int64  `json:"cost"`
	Override bool   `json:"override"`
	Shadow   bool   `json:"shadow"`
}

// TriedSummary is a route that did not match, with the first condition that did not hold.
type TriedSummary struct {
	Index     int    `json:"index"`
	Line      int    `json:"line"`
	Condition string `json:"condition"`
	Wanted    string `json:"wanted"`
	Got       string `json:"got"`
}

// Explain says what happens to a request, and why.
func (c *Config) Explain(r *route.Request) Explanation {
	found := c.Routes.Explain(r, maxTried)
	e := Explanation{Host: found.Host, Path: found.Path, Client: found.Client, More: found.More}
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
	e.Route, e.Key = &summary, m.Key
	for i, value := range m.Parts {
		e.Parts = append(e.Parts, PartSummary{Source: summary.Key[i], Value: value})
	}
	if m.NoKey != nil {
		e.Denied, e.Status, e.Reason = true, m.NoKey.Status, m.NoKey.Detail()
		return e
	}
	charges, _ := c.Policies.ForRoute(nil, m, m.Key)
	for i := range charges {
		charge := &charges[i]
		e.Limits = append(e.Limits, ChargeSummary{
			Policy: charge.Policy, Limit: charge.Limit.String(), Cost: charge.Cost, Override: charge.Override, Shadow: charge.Shadow,
		})
	}
	return e
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
	s := RouteSummary{Index: index, Line: r.Line, Match: r.Match.String(), EmptyKey: "deny", Status: r.EmptyKeyStatus, Cost: r.Cost.String(), Policies: r.Policies}
	if s.Refund = r.RefundOnError; r.Upstream != nil {
		s.Upstream = r.Upstream.Name
	}
	if r.Skip {
		s.EmptyKey = "skip"
	}
	for i := range r.Key {
		s.Key = append(s.Key, r.Key[i].String())
	}
	return s
}
