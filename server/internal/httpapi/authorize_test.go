package httpapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

const authorizing = `
policies:
  user:   {algorithm: fixed-window, limit: 2, window: 1m}
  all:    {algorithm: fixed-window, limit: 3, window: 1m, headers: x-ratelimit}
  search: {algorithm: token-bucket, rate: 10/s, burst: 10}
trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]
routes:
  - {match: {path: "/users/{id}", method: [POST]}, key: [{path: id}], policies: [user, all]}
  - {match: {host: search.example.com}, key: [{client_ip: {}}], cost: {header: X-Cost, max: 5}, policies: [search]}
  - {match: {path: "/plan"}, key: [{header: X-Plan}], policies: [user]}
  - {match: {path: "/key"}, key: [{header: X-API-Key}], empty_key_status: 401, policies: [user]}
  - {match: {path: "/each"}, charge: [{policy: search, key: [client_ip]}, {policy: user, key: [{header: X-API-Key}], cost: {header: X-Cost, max: 2}}], empty_key_status: 401}
  - {match: {path: "/gone"}, key: [{cookie: sid}], empty_key_status: 404, policies: [user]}
`

// newAuthorizer returns a handler for the routes above, and its limiter.
func newAuthorizer(t *testing.T) (http.Handler, *core.Limiter) {
	t.Helper()
	config, err := policy.Parse("test.yaml", []byte(authorizing))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: store})
	s := service.New(service.Config{Limiter: limiter})
	s.SetPolicies(config.Policies, config.Routes)
	return New(s), limiter
}

// ask sends a request like a proxy does. Each header is a string such as "X-Forwarded-Uri: /".
func ask(h http.Handler, method, query string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://headgate/v1/authorize"+query, nil)
	r.RemoteAddr = "10.0.0.1:4711"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "From" {
			r.RemoteAddr = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// authorizeEach sends a request for each status of the operation.
func authorizeEach(t *testing.T, s *spec, o operation, seen map[string]bool) {
	t.Helper()
	h, limiter := newAuthorizer(t)
	send := func(query string, headers ...string) {
		t.Helper()
		w := ask(h, o.method, query, headers...)
		seen[o.String()+" "+strconv.Itoa(w.Code)] = true
		s.checkResponse(t, o, strings.Join(headers, ", "), w)
	}
	for range 4 {
		send("", "X-Forwarded-Method: POST", "X-Forwarded-Uri: /users/7")
	}
	send("?deny=403", "X-Forwarded-Method: POST", "X-Forwarded-Uri: /users/7")
	send("", "X-Forwarded-Uri: /elsewhere")
	send("", "X-Forwarded-Uri: /plan")
	send("", "From: 192.0.2.1:1", "X-Forwarded-Uri: /plan")
	send("")
	if err := limiter.Close(); err != nil {
		t.Fatal(err)
	}
	send("", "X-Forwarded-Uri: /plan", "X-Plan: free")
}

// TestAuthorizeWithoutRoutes checks that a server without routes returns an error instead of admitting requests.
func TestAuthorizeWithoutRoutes(t *testing.T) {
	limiter := core.New(core.Config{})
	t.Cleanup(func() { _ = limiter.Close() })
	if w := ask(New(service.New(service.Config{Limiter: limiter})), "GET", "", "From: 127.0.0.1:1", "X-Original-URI: /"); w.Code != 500 || !strings.Contains(w.Body.String(), problem.NoRoutes) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestAuthorize covers requests as described by each proxy, and forged headers.
func TestAuthorize(t *testing.T) {
	h, _ := newAuthorizer(t)
	for _, c := range []struct {
		name    string
		query   string
		headers []string
		status  int
		header  string // a header of the answer
		body    string
	}{
		{"nginx", "", []string{"X-Original-Method: POST", "X-Original-URL: https://shop.example.com/users/7?v=2"}, 200, `RateLimit: "user";r=1;t=60, "all";r=2;t=60`, ""},
		{"nginx, the path alone", "", []string{"X-Original-Method: POST", "X-Original-URI: /users/7?v=2"}, 200, `RateLimit: "user";r=0;t=60, "all";r=1;t=60`, ""},
		{"Traefik, denied", "", []string{"X-Forwarded-Method: POST", "X-Forwarded-Host: shop.example.com", "X-Forwarded-Uri: /users/7"}, 429, "Retry-After: 60", `"violated-policies":["user"]`},
		{"nginx, denied", "?deny=403", []string{"X-Original-Method: POST", "X-Original-URI: /users/7"}, 403, "Retry-After: 60", `#quota-exceeded`},
		{"a denial charges neither policy", "", []string{"X-Forwarded-Method: POST", "X-Forwarded-Uri: /users/8"}, 200, `RateLimit: `, ""},
		{"no route", "", []string{"X-Forwarded-Method: GET", "X-Forwarded-Uri: /users/7"}, 200, "", ""},
		{"Caddy, by the client, with a cost", "", []string{"X-Forwarded-Host: search.example.com", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.7", "X-Cost: 4"}, 200, `RateLimit: "search";r=6;t=1`, ""},
		{"an absurd cost counts as the largest", "", []string{"X-Forwarded-Host: search.example.com", "X-Forwarded-Uri: /", "X-Forwarded-For: 203.0.113.7", "X-Cost: 99999999999999999999"}, 200, `RateLimit: "search";r=1;t=1`, ""},
		{"a client behind two proxies", "", []string{"X-Forwarded-Host: search.example.com", "X-Forwarded-Uri: /", "X-Forwarded-For: 198.51.100.1, 203.0.113.7, 10.0.0.9", "X-Cost: 2"}, 429, "", `"search"`},
		{"no key", "", []string{"X-Forwarded-Uri: /plan"}, 400, "Cache-Control: no-store", "lacks a part of its key: header X-Plan"},
		{"no key, with a status of the route", "", []string{"X-Forwarded-Uri: /key"}, 401, "", "header X-API-Key"},
		{"several keys", "", []string{"X-Forwarded-Uri: /each", "X-API-Key: k", "X-Cost: 2", "X-Forwarded-For: 203.0.113.8"}, 200, `RateLimit: "user";r=0;t=60, "search";r=9;t=1`, ""},
		{"one of several keys denies", "", []string{"X-Forwarded-Uri: /each", "X-API-Key: k", "X-Forwarded-For: 203.0.113.8"}, 429, `RateLimit: "user";r=0;t=60, "search";r=9;t=1`, `"the rate limit is reached: user, counted by header X-API-Key"`},
		{"one of several keys is not there", "", []string{"X-Forwarded-Uri: /each"}, 401, "", "header X-API-Key, for the policy user"},
		{"nginx passes 401 on", "?deny=403", []string{"X-Forwarded-Uri: /key"}, 401, "", "header X-API-Key"},
		{"nginx passes no 404 on", "?deny=403", []string{"X-Forwarded-Uri: /gone"}, 403, "", "cookie sid"},
		{"a cookie that cannot be read", "", []string{"X-Forwarded-Uri: /gone", `Cookie: sid="a`}, 400, "", "cannot be read: cookie sid"},
		{"a query of too many fields", "", []string{"X-Forwarded-Uri: /?" + strings.Repeat("&", 8000)}, 200, "", ""},
		{"a long key is hashed", "", []string{"X-Forwarded-Uri: /plan", "X-Plan: " + strings.Repeat("p", 1025)}, 200, `RateLimit: "user";r=1`, ""},
		{"not a proxy, which maps 403", "?deny=403", []string{"From: 192.0.2.1:1", "X-Forwarded-Uri: /plan"}, 500, "", "trusted_proxies"},
		{"not a proxy", "", []string{"From: 192.0.2.1:1", "X-Forwarded-Uri: /plan"}, 403, "", "trusted_proxies"},
		{"nothing described", "", nil, 400, "", "no header describes the request"},
		{"a host that ends the path", "", []string{"X-Original-URL: http://a?/users/7"}, 400, "", "not well formed"},
		{"two hosts that differ", "", []string{"X-Original-URI: /", "X-Forwarded-Uri: /", "X-Forwarded-Host: elsewhere.example"}, 400, "", "describe different requests"},
		{"a whole URL beside a path", "", []string{"X-Original-URI: /", "X-Original-URL: http://elsewhere.example/"}, 400, "", "describe different requests"},
		{"a host beside a path of another proxy", "", []string{"X-Original-URI: /plan", "X-Forwarded-Host: search.example.com", "X-Plan: b"}, 200, `RateLimit: "user";r=1`, ""},
		{"two headers that differ", "", []string{"X-Original-URI: /a", "X-Forwarded-Uri: /b"}, 400, "", "X-Forwarded-Uri and X-Original-Uri describe different requests"},
		{"two methods that differ", "", []string{"X-Original-Method: GET", "X-Forwarded-Method: POST", "X-Original-URI: /a"}, 400, "", "more than one value"},
		{"one header twice", "", []string{"X-Original-URI: /a", "X-Original-URI: /b"}, 400, "", "more than one value"},
		{"no path", "", []string{"X-Original-URI: users/7"}, 400, "", "not well formed"},
		{"a token before #, where some servers end a target", "", []string{"X-Original-URI: /plan?token=real#1"}, 400, "", "# as %23"}, // (regression: bug 220)
		{"control characters", "", []string{"X-Original-URI: /a\x00b"}, 400, "", "not well formed"},
		{"a long path", "", []string{"X-Original-URI: /" + strings.Repeat("a", 9000)}, 400, "", "not well formed"},
		{"no method", "", []string{"X-Original-Method: GET /", "X-Original-URI: /a"}, 400, "", "not one"},
		{"another status", "?deny=500", []string{"X-Original-URI: /a"}, 400, "", "accepted: 403 or 429"},
	} {
		w := ask(h, http.MethodGet, c.query, c.headers...)
		name, value, _ := strings.Cut(c.header, ": ")
		if w.Code != c.status || c.header != "" && !hasHeader(w.Header(), name, value) || !strings.Contains(w.Body.String(), c.body) || c.status == 200 && w.Body.Len() > 0 {
			t.Errorf("%s: %d %v %s", c.name, w.Code, w.Header(), w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: a proxy may store the answer", c.name)
		}
	}
	w := ask(h, http.MethodGet, "", "X-Forwarded-Uri: /plan")
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-Ratelimit-Limit", "Retry-After"} {
		if value := w.Header().Get(name); value != "" {
			t.Errorf("without a key no limit has decided, but there is %s: %s", name, value)
		}
	}
	if w := ask(h, http.MethodDelete, "", "X-Original-URI: /a"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", w.Code)
	}
}

// hasHeader reports whether a header begins with a value.
func hasHeader(h http.Header, name, value string) bool {
	values := h.Values(name)
	return len(values) == 1 && strings.HasPrefix(values[0], value)
}

// TestPagesReadDenials checks that a page of another origin can read a denial that its proxy returns, if the server
// names the origin.
func TestPagesReadDenials(t *testing.T) {
	config, err := policy.Parse("test.yaml", []byte(authorizing))
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(service.Config{Limiter: core.New(core.Config{}), Origins: service.Origins{"https://app.test"}})
	s.SetPolicies(config.Policies, config.Routes)
	h := New(s)
	for i, origin := range []string{"https://app.test", "https://app.test", "https://app.test", "https://evil.test"} {
		answer := ask(h, "POST", "", "X-Forwarded-Uri: /users/7", "Origin: "+origin)
		want := ""
		if i == 2 {
			want = origin
		}
		if got := answer.Header().Get("Access-Control-Allow-Origin"); answer.Code != 200 && i < 2 || answer.Code != 429 && i >= 2 || got != want {
			t.Errorf("request %d of %s: %d, %v", i, origin, answer.Code, answer.Header())
		}
	}
}

// TestAuthorizeWithoutBody checks that a call is answered without the body that its header announces: a proxy can copy
// the Content-Length of its client's request, and not send the body (regression: bug 269).
func TestAuthorizeWithoutBody(t *testing.T) {
	h, _ := newAuthorizer(t)
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(conn, "GET /v1/authorize HTTP/1.1\r\nHost: a\r\nX-Original-Method: POST\r\nX-Original-URI: /users/7\r\nContent-Length: 9\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("%s, close %v; the next call must not be read as the body", response.Status, response.Close)
	}
}
