package route

import (
	"net/http"
	"testing"
)

// A preflight matches only routes that name OPTIONS. Preflighted finds the route of the request that it asks about.
// (Regression: bug 136.)
func TestPreflights(t *testing.T) {
	key := []Charge{{Key: []Part{{From: FromHeader, Name: "X-Api-Key"}}}}
	table := New([]Route{
		{Match: Conditions{Path: must(ParsePath("/named")), Methods: []string{"GET", "OPTIONS"}}, Charges: []Charge{{Key: []Part{{Name: "all"}}}}},
		{Match: Conditions{Path: must(ParsePath("/put")), Methods: []string{"PUT"}}, Charges: key},
		{Match: Conditions{Path: must(ParsePath("/put"))}, Charges: key},
		{Match: Conditions{Path: must(ParsePath("/skipped"))}, Charges: key, Skip: true},
	}, Loopback)
	preflight := func(method string) http.Header {
		return http.Header{"Origin": {"https://a.test"}, "Access-Control-Request-Method": {method}}
	}
	for _, c := range []struct {
		path          string
		method        string
		header        http.Header
		matched, asks int // index of a route, or -1
	}{
		{"/named", "OPTIONS", preflight("GET"), 0, 0},
		{"/put", "OPTIONS", preflight("PUT"), -1, 1},
		{"/put", "options", preflight("put"), -1, 1},
		{"/put", "OPTIONS", preflight("DELETE"), -1, 2},
		{"/skipped", "OPTIONS", preflight("GET"), -1, 3},
		{"/none", "OPTIONS", preflight("GET"), -1, -1},
		{"/put", "OPTIONS", http.Header{"Access-Control-Request-Method": {"PUT"}}, 2, -1},
		{"/put", "OPTIONS", nil, 2, -1},
		{"/put", "PUT", preflight("PUT"), 1, -1},
	} {
		r := &Request{Method: c.method, Path: c.path, Header: c.header}
		matched, asks := -1, -1
		if m, ok := table.Find(r); ok {
			matched = m.Index
		}
		if to, ok := table.Preflighted(r); ok {
			for i := range table.routes {
				if to == &table.routes[i] {
					asks = i
				}
			}
		}
		if matched != c.matched || asks != c.asks {
			t.Errorf("%s %s %v: matches %d and asks about %d, want %d and %d", c.method, c.path, c.header, matched, asks, c.matched, c.asks)
		}
	}
}
