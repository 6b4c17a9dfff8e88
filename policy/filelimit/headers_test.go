package filelimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

// TestHeadersEqualTheServers checks that middleware with a file writes the same headers as the server's front ends
// (Response.WriteHeaders): all limits in the policy's style, each with its own window.
func TestHeadersEqualTheServers(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  reply: sliding-log 2/1s 50/1h
  old:   {algorithm: fixed-window, limit: 9, window: 1h, headers: draft-03}
  plan:  {all: [reply, {name: day, algorithm: fixed-window, limit: 100, window: 24h, align: first}], cost: 2}
  spent: {algorithm: fixed-window, limit: 1000000000000, window: 24h, align: first, unit: micro-dollars}
  call:  {all: [spent, {name: day, algorithm: fixed-window, limit: 100, window: 24h, align: first}], unit: calls}
routes:
  - {match: {path: /reply}, key: [{const: a}], policies: [reply]}
  - {match: {path: /old}, key: [{const: a}], policies: [old]}
  - {match: {path: /plan}, key: [{const: a}], policies: [plan]}
  - {match: {path: /spent}, key: [{const: a}], policies: [spent]}
  - {match: {path: /call}, key: [{const: a}], policies: [call]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, policy, want string }{
		{"/reply", "reply", `map[Ratelimit:["reply";r=1;t=1] Ratelimit-Policy:["reply";q=2;w=1]]`},
		{"/old", "old", `map[Ratelimit-Limit:[9] Ratelimit-Remaining:[8] Ratelimit-Reset:[3600]]`},
		{"/plan", "plan", `map[Ratelimit:["reply";r=0;t=1, "plan.day";r=98;t=86400] Ratelimit-Policy:["reply";q=2;w=1, "plan.day";q=100;w=86400]]`},
		{"/spent", "spent", `map[Ratelimit:["spent";r=999999999999;t=86400] Ratelimit-Policy:["spent";q=1000000000000;qu="micro-dollars";w=86400]]`},
		{"/call", "call", `map[Ratelimit:["call.day";r=99;t=86400, "spent";r=999999999999;t=86400] ` +
			`Ratelimit-Policy:["call.day";q=100;qu="calls";w=86400, "spent";q=1000000000000;qu="micro-dollars";w=86400]]`},
	} {
		store := func() *headgate.Limiter {
			s, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
			if err != nil {
				t.Fatal(err)
			}
			l := headgate.New(headgate.WithStore(s))
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
		w := httptest.NewRecorder()
		h := httplimit.By(filelimit.New(config, store()))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, http.NoBody))
		responses, headers := make([]decide.Response, 1), http.Header{}
		filelimit.New(config, store()).Do(t.Context(), []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Policy: c.policy, Key: "a"}}}, responses)
		responses[0].WriteHeaders(headers)
		if got := fmt.Sprint(w.Header()); got != c.want {
			t.Errorf("%s by the middleware:\n%s, want\n%s", c.path, got, c.want)
		}
		if got := fmt.Sprint(headers); got != c.want {
			t.Errorf("%s by the server:\n%s, want\n%s", c.path, got, c.want)
		}
	}
}

// A limit whose policy has no headers is hidden, also where it is the binding one: the headers are those of the other
// limits of the request, in their style (regression: bug 185).
func TestHeadersOffHidesALimit(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  users: {algorithm: fixed-window, limit: 4, window: 1h, headers: draft-03}
  every: {algorithm: fixed-window, limit: 2, window: 1h, headers: off}
  both:  {all: [users, every]}
routes:
  - {match: {path: /users}, key: [{const: a}], policies: [users, every]}
  - {match: {path: /both}, key: [{const: b}], policies: [both]}
  - {match: {path: /every}, key: [{const: c}], policies: [every]}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	h := httplimit.By(filelimit.New(config, limiter))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, path := range []string{"/users", "/both"} {
		for i, want := range []string{"3", "2", "2"} { // the third one is denied by every
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			if (w.Code == 200) != (i < 2) || w.Header().Get("Ratelimit-Remaining") != want || w.Header().Get("Ratelimit") != "" || (w.Header().Get("Retry-After") == "") != (i < 2) {
				t.Errorf("%s, request %d: %d %v", path, i, w.Code, w.Header())
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/every", http.NoBody))
	if len(w.Header()) != 0 {
		t.Errorf("%v", w.Header())
	}
}
