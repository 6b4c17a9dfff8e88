package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/admin"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/feed"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/page"
	"github.com/headgate/headgate/server/internal/policies"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/shadows"
	"github.com/headgate/headgate/server/internal/topkeys"
	"github.com/headgate/headgate/server/internal/users"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const file = `
policies:
  api: {algorithm: token-bucket, rate: 1/1h, burst: 3}
  trial: {algorithm: token-bucket, rate: 1/1h, burst: 1, shadow: true}
  both: {all: [api, trial]}
  safe: {algorithm: fixed-window, limit: 3, window: 1d}
  slots: {algorithm: concurrency, limit: 2, lease: 1m}
  day: {algorithm: fixed-window, limit: 3, window: 1d, align: clock}
  lanes: {algorithm: fixed-window, limit: 10, window: 1h, classes: [{name: live}, {name: batch, leaves: 40%}]}
  plan: {all: [{name: minute, algorithm: fixed-window, limit: 5, window: 1m}, {name: hour, algorithm: fixed-window, limit: 7, window: 1h}]}
overrides:
  - {policy: plan/hour, key: eve, set: {limit: 8}}
  - {policy: api, key: "vip-*", set: {burst: 10}}
  - {policy: lanes, key: nightly, class: batch}
`

type observers []service.Observer

func (all observers) Observe(o *service.Observed) {
	for _, each := range all {
		each.Observe(o)
	}
}

// world is a server with its admin handler.
type world struct {
	handler http.Handler
	feed    *feed.Feed
	service *service.Service
	users   *users.File
	path    string
	away    bool // the store does not answer whether it has state
	lost    bool // it has lost data

	mu  sync.Mutex
	log bytes.Buffer
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

func newWorld(t *testing.T, usersFile string, hosts ...string) *world {
	t.Helper()
	w := &world{path: filepath.Join(t.TempDir(), "p.yaml")}
	if err := os.WriteFile(w.path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Load(w.path)
	if err != nil {
		t.Fatal(err)
	}
	if usersFile != "" {
		if w.users, err = users.Open(usersFile); err != nil {
			t.Fatal(err)
		}
	}
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: store})
	t.Cleanup(func() { _ = limiter.Close() })
	counted, top := metrics.New("v1"), topkeys.New()
	counted.SetPolicies(config.Policies)
	compared := shadows.New(clock.Now)
	w.service = service.New(service.Config{Limiter: limiter, Observer: observers{counted, top, compared}})
	logger := slog.New(slog.NewTextHandler(w, nil))
	manager, err := policies.New(t.Context(), policies.Config{
		File: w.path, Base: config, Logger: logger,
		Apply: func(_ context.Context, c *policy.Config) (uint64, error) {
			compared.SetPolicies(c.Policies)
			return w.service.SetPolicies(c.Policies, c.Routes), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := func() *adminapi.Server { return admin.Describe("web-3/4711", store) }
	w.feed = admin.NewFeed(admin.FeedConfig{
		Server: server, Metrics: counted, Top: top, Store: store, Address: "memory", Outage: func() metrics.Outage { return metrics.Outage{} },
		Generation: w.service.Generation, Policies: func() int { return len(config.Policies.Names()) }, Changes: func() int { return 0 },
	})
	t.Cleanup(w.feed.Close)
	w.handler = admin.New(admin.Config{
		Feed: w.feed, Server: server, Page: page.Handler(), Version: "v1", Shadows: compared.Compare,
		Users: w.users, Hosts: hosts, Metrics: counted.Handler(), Policies: manager, Service: w.service, Top: top,
		Decide: func(ctx context.Context, ops []engine.Op, results []engine.Answer) {
			limiter.Do(ctx, ops, results)
			for i := range ops {
				if w.away && ops[i].Kind == engine.OpExpiry {
					results[i] = engine.Answer{Err: engine.ErrStoreUnavailable}
				}
			}
		},
		AcceptLoss: func(context.Context) (lost bool, err error) {
			lost, w.lost = w.lost, false
			return lost, nil
		},
		Settings: map[string]string{"store": "memory"}, Logger: logger,
	})
	return w
}

// call sends a request as a client on loopback does. The headers are pairs of names and values.
func (w *world) call(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:6070"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	return answer
}

func (w *world) take(name, key string, times int) {
	for range times {
		w.service.Do(context.Background(), service.RESP, []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Policy: name, Key: key}}}, make([]decide.Response, 1))
	}
}

// TestAnswersAreDescribed checks that admin.yaml and the handler contain the same calls, and that the handler answers
// each example as admin.yaml describes.
func TestAnswersAreDescribed(t *testing.T) {
	s := loadSpec(t)
	described := map[string]bool{}
	s.operations(func(method, path string, about map[string]any) {
		described[method+" "+path] = true
		w := newWorld(t, "")
		w.take("day", "joe", 5)
		w.take("both", "joe", 5)
		w.take("api", "\xff", 5)
		if strings.HasSuffix(path, "clear") || method == http.MethodGet {
			for _, body := range []string{
				`{"policy":"api","fields":{"rate":"50/s"},"author":"ann"}`,
				`{"policy":"api","key":"partner-*","fields":{"deny":true},"author":"ann","for":"1h"}`,
				`{"policy":"new","fields":"5/s","author":"ann","reason":"a new one"}`,
			} {
				if got := w.call(http.MethodPost, "/admin/v1/changes", body); got.Code != http.StatusOK {
					t.Fatal(got.Body)
				}
			}
		}
		call := strings.Replace(path, "{name}", "api", 1)
		if strings.HasSuffix(path, "events") {
			call += "?n=1"
		}
		for _, body := range bodies(about) {
			answer := w.call(method, call, body)
			if answer.Code != http.StatusOK {
				t.Errorf("%s %s %s: %d: %s", method, call, body, answer.Code, answer.Body)
			}
			s.check(t, method, path, call, answer)
		}
		if method == http.MethodPost {
			for _, body := range []string{"", "{", "[]", `{"unknown":1}`, `{} {}`, `{"policy":"api","key":"k","fields":1,"level":"x"}`} {
				if answer := w.call(method, call, body); answer.Code != http.StatusOK {
					s.check(t, method, path, call, answer)
				} else {
					t.Errorf("%s %s answers %s to %q", method, call, answer.Body, body)
				}
			}
		}
	})
	for _, pattern := range admin.Calls() {
		if !described[pattern] {
			t.Errorf("%s is not described", pattern)
		}
		delete(described, pattern)
	}
	if delete(described, "GET /metrics"); len(described) > 0 {
		t.Errorf("described, and not there: %v", described)
	}
}

func TestErrorsAreDescribed(t *testing.T) {
	s, w := loadSpec(t), newWorld(t, "")
	for _, c := range []struct {
		method, path, call, body string
		status                   int
		want                     string
	}{
		{"GET", "/admin/v1/policies/{name}", "/admin/v1/policies/no", "", 404, `no policy \"no\"`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rat":"1/s"},"author":"a"}`, 422, `unknown field \"rat\"`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s"}}`, 400, `author`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s"},"author":"a","for":"-1s"}`, 400, `for`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s"},"author":"a","for":"2x"}`, 400, `for: \"2x\"; accepted: a duration such as 30m, 1h30m, 2d or 1w, without expires`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s"},"author":"a","policy":"day"}`, 400, `policy occurs twice in one object`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s","rate":"9/s"},"author":"a"}`, 400, `rate occurs twice in one object`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api"}}`, 400, `body must be one JSON object with nothing after it`}, // it used to panic
		{"POST", "/admin/v1/changes", "", `{"policy":"api","fields":{"rate":"1/s"},"author":"a","expires":"2020-01-01T00:00:00Z"}`, 400, `expires`},
		{"POST", "/admin/v1/changes", "", `{"policy":"both","key":"k","fields":{"set":{"rate":"1/s"}},"author":"a"}`, 400, `accepted: deny: true or unlimited: true for a policy with all`},
		{"POST", "/admin/v1/changes", "", `{"policy":"api","key":"","fields":{"deny":true},"author":"a"}`, 400, `key: empty; accepted: a key or a pattern`},
		{"POST", "/admin/v1/changes/try", "", `{"policy":"api","key":"","fields":{"deny":true}}`, 400, `key: empty`},
		{"POST", "/admin/v1/changes/clear", "", `{"policy":"api","key":"","author":"a"}`, 400, `key: empty`},
		{"POST", "/admin/v1/changes/clear", "", `{"policy":"api","author":"a"}`, 404, `no such change`},
		{"POST", "/admin/v1/keys/explain", "", `{"key":""}`, 400, `1 to 1024`},
		{"POST", "/admin/v1/keys/explain", "", `{"key":"k","key_base64":"aw=="}`, 400, `one of them`},
		{"POST", "/admin/v1/keys/explain", "", `{"key":"k","policy":"no"}`, 404, `no policy`},
		{"POST", "/admin/v1/keys/explain", "", `{"key":"k","cost":-1}`, 400, `cost`},
		{"POST", "/admin/v1/keys/give", "", `{"key":"k","policy":"no","author":"a"}`, 404, `no policy`},
		{"POST", "/admin/v1/keys/give", "", `{"key":"k","policy":"api"}`, 400, `author`},
		{"POST", "/admin/v1/keys/reset", "", `{"key":"k","policy":"api","author":"a","units":1}`, 400, `units`},
		{"POST", "/admin/v1/keys/give", "", `{"key":"k","policy":"slots","author":"a","units":1}`, 422, `acquire and release on a concurrency limit, not give`},
		{"GET", "/admin/v1/keys/top", "/admin/v1/keys/top?n=0", "", 400, `n: `},
		{"GET", "/admin/v1/keys/top", "/admin/v1/keys/top?by=x", "", 400, `requests, denials, newly-denied, newly-allowed`},
		{"GET", "/admin/v1/keys/top", "/admin/v1/keys/top?policy=no", "", 404, `no policy \"no\"`},
		{"GET", "/admin/v1/keys/limited", "/admin/v1/keys/limited?policy=no", "", 404, `no policy \"no\"`},
		{"GET", "/admin/v1/shadows", "/admin/v1/shadows?policy=no", "", 404, `no policy \"no\"`},
		{"GET", "/admin/v1/shadows", "/admin/v1/shadows?policy=api", "", 400, `has no shadow; accepted: a policy with shadow`},
		{"GET", "/admin/v1/keys/limited", "/admin/v1/keys/limited?n=101", "", 400, `1 to 100`},
		{"POST", "/admin/v1/changes", "", strings.Repeat(" ", 200_000), 413, `128 KiB`},
	} {
		call := c.call
		if call == "" {
			call = c.path
		}
		answer := w.call(c.method, call, c.body)
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s %s %.80s: %d %s, want %d and %s", c.method, call, c.body, answer.Code, answer.Body, c.status, c.want)
		}
		s.check(t, c.method, c.path, call, answer)
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/admin/v1/nothing":  {http.StatusNotFound, "no such path: /admin/v1/nothing"},
		"/metrics":           {http.StatusMethodNotAllowed, "method must be GET"},
		"/admin/v1/reload?":  {http.StatusOK, ""},
		"/admin/v1/keys/top": {http.StatusMethodNotAllowed, "method must be GET"},
	} {
		got := w.call("POST", path, "{}")
		if got.Code != want.status || !strings.Contains(got.Body.String(), want.text) {
			t.Errorf("POST %s: %d %s", path, got.Code, got.Body)
		}
		if want.status != http.StatusOK && (got.Header().Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(got.Body.String(), `"request_id":"`+got.Header().Get(requestid.Header)+`"`)) {
			t.Errorf("POST %s: %v %s", path, got.Header(), got.Body)
		}
	}
	if got := w.call("POST", "/admin/v1/changes", `{"policy":"day","fields":{"limit":5},"author":"a"}`); got.Code != http.StatusOK {
		t.Errorf("the second method of a path: %d", got.Code)
	}
	s.operations(func(method, path string, described map[string]any) {
		if _, ok := described["requestBody"]; !ok {
			return
		}
		form := w.call(method, path, "{}", "Content-Type", "text/plain")
		if form.Code != http.StatusUnsupportedMediaType {
			t.Errorf("%s %s: a form of a web page: %d", method, path, form.Code)
		}
		s.check(t, method, path, path, form)
		large := w.call(method, path, strings.Repeat(" ", 200_000))
		if large.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s: a large body: %d", method, path, large.Code)
		}
		s.check(t, method, path, path, large)
	})
	if !strings.Contains(w.logged(), "larger than 128 KiB") {
		t.Errorf("the log has no large body: %s", w.logged())
	}
}

// answer decodes the answer to a call that must succeed.
func answer[A any](t *testing.T, w *httptest.ResponseRecorder) (a A) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

type explained struct {
	Explanations []struct {
		Policy   string
		Combined bool
		Allowed  bool
		Never    bool
		FreesAt  string `json:"frees_at"`
		Limits   []struct {
			Policy, Limit, Rule, From        string
			Combined, Shadow, Decides, State bool
			Remaining                        int64
			RetryAfter                       int64 `json:"retry_after_ms"`
			Change                           *policies.Change
		}
	}
}

// TestFileAndChangeAreDistinguished checks that answers show which parts come from the file and which from a change.
// It also tries, makes and clears a change.
func TestFileAndChangeAreDistinguished(t *testing.T) {
	w := newWorld(t, "")
	type view struct {
		InForce   *policy.Summary `json:"in_force"`
		File      *policy.Summary
		Change    *policies.Change
		Overrides []struct {
			Key, Limit, File string
			Change           *policies.Change
		}
	}
	show := func() view { return answer[view](t, w.call("GET", "/admin/v1/policies/api", "")) }
	body := `{"policy":"api","fields":{"burst":7},"author":"ann"}`
	tried := answer[struct {
		Policies []struct{ Before, After *policy.Summary }
	}](t, w.call("POST", "/admin/v1/changes/try", body))
	if len(tried.Policies) != 2 || tried.Policies[0].Before.Limits[0] != "1/1h burst 3" || tried.Policies[0].After.Limits[0] != "1/1h burst 7" {
		t.Errorf("%+v", tried)
	}
	if v := show(); v.Change != nil || v.InForce.Limits[0] != "1/1h burst 3" {
		t.Errorf("a trial changed something: %+v", v)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes", body))
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"api","key":"vip-*","fields":{"deny":true},"author":"bob"}`))
	v := show()
	if v.InForce.Limits[0] != "1/1h burst 7" || v.File.Limits[0] != "1/1h burst 3" || v.Change.Author != "ann" {
		t.Errorf("%+v", v)
	}
	if o := v.Overrides[0]; o.Key != "vip-*" || o.Limit != "deny" || o.File != "1/1h burst 10" || o.Change.Author != "bob" {
		t.Errorf("%+v", v.Overrides)
	}
	active := answer[adminapi.Changes](t, w.call("GET", "/admin/v1/changes", "")).Changes
	if len(active) != 2 || active[0].Before != "1/1h burst 3" || active[0].After != "1/1h burst 7" || active[1].Before != "1/1h burst 10" || active[1].After != "deny" {
		t.Errorf("%+v", active)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes/clear", `{"policy":"api","author":"ann"}`))
	var done []string
	for _, a := range answer[adminapi.History](t, w.call("GET", "/admin/v1/history", "")).Actions {
		done = append(done, a.Action+": "+a.Before+" → "+a.After)
	}
	if want := []string{"clear: 1/1h burst 7 → 1/1h burst 3", "change: 1/1h burst 10 → deny", "change: 1/1h burst 3 → 1/1h burst 7"}; !slices.Equal(done, want) {
		t.Errorf("%q", done)
	}
	if v := show(); v.InForce.Limits[0] != "1/1h burst 3" || v.Change != nil {
		t.Errorf("%+v", v)
	}
	for _, line := range []string{"action=change policy=api author=ann", "action=clear policy=api author=ann"} {
		if !strings.Contains(w.logged(), line) {
			t.Errorf("the log has no %s: %s", line, w.logged())
		}
	}
}

// TestCountsOfARemovedPolicy checks that the counts of a removed policy, and of requests without a policy, can be
// queried without an error.
func TestCountsOfARemovedPolicy(t *testing.T) {
	w := newWorld(t, "")
	w.take("day", "joe", 2)
	if err := os.WriteFile(w.path, []byte("policies: {api: 1/s}"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer[struct{}](t, w.call("POST", "/admin/v1/reload", "{}"))
	for _, query := range []string{"top?policy=day", "top?policy=day&by=denials", "limited?policy=day", "top?policy=api", "top?policy=(inline)", "limited?policy=(inline)"} {
		if got := w.call("GET", "/admin/v1/keys/"+query, ""); got.Code != http.StatusOK {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
}

// TestShadowLimits checks that an operator sees which limits of a policy with the field all are shadow limits.
func TestShadowLimits(t *testing.T) {
	type view struct {
		Name   string
		Places []int `json:"shadow_limits"`
	}
	for _, p := range answer[struct{ Policies []view }](t, newWorld(t, "").call("GET", "/admin/v1/policies", "")).Policies {
		if want := map[string][]int{"both": {1}}[p.Name]; !slices.Equal(p.Places, want) {
			t.Errorf("%s: %v, want %v", p.Name, p.Places, want)
		}
	}
}

func TestTopAndLimited(t *testing.T) {
	w := newWorld(t, "")
	w.take("day", "joe", 9)
	w.take("day", "ann", 2)
	type counted struct {
		Keys []struct {
			Key   string
			Count int64
		}
	}
	top := answer[counted](t, w.call("GET", "/admin/v1/keys/top?n=1&by=requests&window=1h", ""))
	if len(top.Keys) != 1 || top.Keys[0].Key != "joe" || top.Keys[0].Count != 9 {
		t.Errorf("%+v", top)
	}
	limited := answer[struct {
		Keys []struct {
			Denials     struct{ Key string }
			Explanation struct{ Allowed bool }
		}
	}](t, w.call("GET", "/admin/v1/keys/limited", ""))
	if len(limited.Keys) != 1 || limited.Keys[0].Denials.Key != "joe" || limited.Keys[0].Explanation.Allowed {
		t.Errorf("%+v", limited)
	}
	given := answer[struct{ Remaining int64 }](t, w.call("POST", "/admin/v1/keys/give", `{"policy":"day","key":"joe","units":2,"author":"ann"}`))
	reset := answer[struct{ Found bool }](t, w.call("POST", "/admin/v1/keys/reset", `{"policy":"day","key":"joe","author":"ann","reason":"paid"}`))
	if given.Remaining != 2 || !reset.Found || !strings.Contains(w.logged(), "action=reset policy=day key=joe author=ann reason=paid") {
		t.Errorf("%+v %+v %s", given, reset, w.logged())
	}
}

func TestReloadAndLevelAndConfig(t *testing.T) {
	w := newWorld(t, "")
	if err := os.WriteFile(w.path, []byte("policies: {api: 5/s}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := answer[struct{ Generation uint64 }](t, w.call("POST", "/admin/v1/reload", "{}")); got.Generation != 2 {
		t.Errorf("generation %d", got.Generation)
	}
	if err := os.WriteFile(w.path, []byte("policies: {api: x}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.call("POST", "/admin/v1/reload", "{}"); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("a file with errors: %d", got.Code)
	}
	config := answer[struct {
		Settings map[string]string
		Policies []policy.Summary
	}](t, w.call("GET", "/admin/v1/config", ""))
	if config.Settings["store"] != "memory" || !slices.ContainsFunc(config.Policies, func(s policy.Summary) bool { return s.Name == "api" }) {
		t.Errorf("%+v", config)
	}
}
