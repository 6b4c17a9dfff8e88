package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
)

// limiter returns a limiter with a stopped clock.
func limiter(t testing.TB) *headgate.Limiter {
	t.Helper()
	return headgate.New(headgate.WithStore(store(t)))
}

func store(t testing.TB) engine.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

func get(h http.Handler, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func rateLimit(w *httptest.ResponseRecorder) string { return w.Header().Get("Ratelimit") }

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

func with(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) {
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
}

// Each address has its own limit. A denied request gets a 429 with Retry-After, a problem and rate-limit headers.
// Responses to allowed requests contain the headers too.
func TestPerIP(t *testing.T) {
	p := limiter(t).PolicyOf("per-ip", rule.TokenBucket(rule.Per(2, 3*time.Second)))
	h := httplimit.New(p, httplimit.ByIP())(hello)
	for n, want := range []string{`"per-ip";r=1;t=2`, `"per-ip";r=0;t=3`} {
		w := get(h, from("192.0.2.1:40000"))
		if w.Code != http.StatusOK || w.Body.String() != "hello\n" || rateLimit(w) != want {
			t.Errorf("request %d: %d %v", n, w.Code, w.Header())
		}
	}
	w := get(h, from("192.0.2.1:40001"))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" || w.Header().Get("Cache-Control") != "no-store" ||
		rateLimit(w) != `"per-ip";r=0;t=2` || w.Header().Get("Ratelimit-Policy") != `"per-ip";q=2;w=3` {
		t.Errorf("denied: %d %v", w.Code, w.Header())
	}
	var problem struct {
		Type     string
		Status   int
		Violated []string `json:"violated-policies"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || !strings.HasSuffix(problem.Type, "#quota-exceeded") ||
		problem.Status != 429 || len(problem.Violated) != 1 || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("body %s: %v", w.Body, err)
	}
	if w := get(h, from("192.0.2.2:40000")); w.Code != http.StatusOK {
		t.Errorf("another address: %d", w.Code)
	}
}

// Regression: bug 38. If the peer is a trusted proxy, the client is the last address that is not a trusted proxy. If
// the peer is not trusted, the peer is the client, regardless of the headers.
func TestClientBehindProxies(t *testing.T) {
	key := httplimit.ByIP(netip.MustParsePrefix("10.0.0.0/8"))
	for _, c := range []struct {
		peer, header, value, want string
	}{
		{"192.0.2.1:1", "", "", "192.0.2.1"},
		{"192.0.2.1:1", "X-Forwarded-For", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.1:1", "X-Forwarded-For", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 198.51.100.7, 10.2.3.4", "198.51.100.7"},
		{"10.0.0.1:1", "X-Forwarded-For", "198.51.100.7, garbage", "10.0.0.1"},
		{"10.0.0.1:1", "Forwarded", `for="[2001:db8:1:2:3::4]:80";proto=https`, "2001:db8:1:2::/64"},
		{"10.0.0.1:1", "X-Real-Ip", "198.51.100.7", "10.0.0.1"}, // most proxies forward it (regression: bug 68)
		{"[2001:db8:1:2::9]:1", "", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:1", "", "", "192.0.2.1"},
		{"192.0.2.1", "", "", "192.0.2.1"},
		{"[64:ff9b::c000:201]:1", "", "", "192.0.2.1"}, // NAT64
		{"10.0.0.1:1", "X-Forwarded-For", "2002:c000:201::5", "192.0.2.1"},
		{"[2002:a00:1::1]:1", "X-Forwarded-For", "198.51.100.7", "10.0.0.1"}, // is no proxy in 10.0.0.0/8
		{"0:0:0:0:0:ffff:192.0.2.1", "", "", "192.0.2.1"},
		{"192.0.2.01:1", "", "", ""},
		{"10.0.0.1:1", "", "", "10.0.0.1"},
		{"@", "", "", "127.0.0.1"}, // a Unix socket
		{"", "", "", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.peer
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if got, ok := key(r); ok && got != c.want || ok != (c.want != "") {
			t.Errorf("%s, %s: %s: %q, %t; want %q", c.peer, c.header, c.value, got, ok, c.want)
		}
	}
}

// X-Real-IP names the client only if the program declares that its proxies set the header, and only in requests from
// such a proxy.
func TestRealIPCountsWhereConfigured(t *testing.T) {
	key := httplimit.ByClient(httplimit.Proxies{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, RealIP: true})
	for _, c := range []struct{ peer, forwarded, want string }{
		{"10.0.0.1:1", "", "198.51.100.7"},
		{"10.0.0.1:1", "203.0.113.9", "203.0.113.9"},
		{"192.0.2.1:1", "", "192.0.2.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Real-IP", "198.51.100.7")
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got, _ := key(r); got != c.want {
			t.Errorf("%s, X-Forwarded-For %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

// TestMissingPart checks that the error for a request without a key names the missing part.
func TestMissingPart(t *testing.T) {
	user, anonymous := httplimit.ByHeader("x-user"), func(*http.Request) (string, bool) { return "", false }
	for want, key := range map[string]httplimit.Key{
		"header X-User":                   user,
		"cookie sid":                      httplimit.ByCookie("sid"),
		"query token":                     httplimit.HashLong(httplimit.ByQuery("token")),
		"path value id":                   httplimit.Join(httplimit.All(), httplimit.ByPathValue("id")),
		"header X-User or header X-Other": httplimit.Or(user, anonymous, httplimit.ByHeader("X-Other")),
		"":                                anonymous,
	} {
		var problem httplimit.Problem
		w := get(httplimit.New(limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1))), key)(hello), with("X-None", "1"))
		detail := "the request lacks a part of its key"
		if want != "" {
			detail += ": " + want
		}
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != http.StatusBadRequest || problem.Detail != detail {
			t.Errorf("%s: %d %s, %v", want, w.Code, w.Body, err)
		}
	}
}

// Combined keys do not collide. A request that lacks a part of its key gets a 400.
func TestKeys(t *testing.T) {
	user, ip := httplimit.ByHeader("x-user"), httplimit.ByIP()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "192.0.2.1:1"
	of := func(k httplimit.Key) string {
		key, ok := k(r)
		if !ok {
			return "none"
		}
		return key
	}
	if got := of(httplimit.Join(ip, user)); got != "none" {
		t.Errorf("without a user: %s", got)
	}
	anonymous := of(httplimit.Or(user, ip))
	r.Header.Set("X-User", "192.0.2.1")
	if named := of(httplimit.Or(user, ip)); named == anonymous || named == "none" {
		t.Errorf("a user named like an address: %q and %q", named, anonymous)
	}
	both := of(httplimit.Join(ip, user))
	r.Header.Set("X-User", "1")
	if other := of(httplimit.Join(ip, user)); other == both {
		t.Errorf("two users have the key %q", both)
	}
	r.AddCookie(&http.Cookie{Name: "sid", Value: "abc"})
	r.SetPathValue("id", "7")
	if of(httplimit.ByCookie("sid")) != "abc" || of(httplimit.ByPathValue("id")) != "7" || of(httplimit.All()) != "all" ||
		of(httplimit.ByCookie("other")) != "none" || of(httplimit.ByPathValue("other")) != "none" {
		t.Error("cookie, path value, all")
	}
	r.URL.RawQuery = "token=abc&empty="
	if of(httplimit.ByQuery("token")) != "abc" || of(httplimit.ByQuery("empty")) != "none" || of(httplimit.ByQuery("other")) != "none" {
		t.Error("query")
	}
	if r.URL.RawQuery = "token=abc&%zz&token=%zz"; of(httplimit.ByQuery("token")) != "abc" {
		t.Error("a malformed query")
	}
	r.Header.Set("X-User", strings.Repeat("x", engine.MaxKeyBytes))
	if of(httplimit.HashLong(user)) != r.Header.Get("X-User") {
		t.Error("a key of 1024 bytes was hashed")
	}
	r.Header.Set("X-User", strings.Repeat("x", engine.MaxKeyBytes+1))
	long := of(httplimit.HashLong(user))
	if r.Header.Set("X-User", strings.Repeat("x", engine.MaxKeyBytes)+"y"); len(long) != 71 || of(httplimit.HashLong(user)) == long {
		t.Errorf("two long keys become %q", long)
	}
	h := httplimit.New(limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1))), user)(hello)
	for detail, edit := range map[string]func(*http.Request){
		"the request lacks a part of its key: header X-User":            with("X-Other", "1"),
		"the request cannot be counted: key; accepted: 1 to 1024 bytes": with("X-User", strings.Repeat("x", 1025)),
	} {
		w := get(h, edit)
		if w.Code != http.StatusBadRequest || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), `"detail":"`+detail+`"`) {
			t.Errorf("%d %s, want %s", w.Code, w.Body, detail)
		}
	}
}

func TestCostAndStyles(t *testing.T) {
	cost := func(r *http.Request) int64 {
		if r.Header.Get("X-Big") != "" {
			return 7
		}
		return 3
	}
	for style, want := range map[httplimit.Style]map[string]string{
		httplimit.Draft03:    {"Ratelimit-Limit": "20", "Ratelimit-Remaining": "17", "Ratelimit-Reset": "1"},
		httplimit.XRateLimit: {"X-Ratelimit-Limit": "20", "X-Ratelimit-Remaining": "17", "X-Ratelimit-Reset": "1"},
		httplimit.Spring: {
			"X-Ratelimit-Remaining": "17", "X-Ratelimit-Replenish-Rate": "10", "X-Ratelimit-Burst-Capacity": "20", "X-Ratelimit-Requested-Tokens": "3",
		},
		httplimit.Off: {},
	} {
		p := limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(10), rule.Burst(20)))
		w := get(httplimit.New(p, httplimit.All(), httplimit.WithCost(cost), httplimit.WithHeaders(style))(hello))
		got := map[string]string{}
		for name, values := range w.Header() {
			// Get, Set and Del of http.Header, and ReverseProxy, work with canonical names only.
			if name != http.CanonicalHeaderKey(name) {
				t.Errorf("%s: %s is not its canonical name", style, name)
			}
			if strings.Contains(name, "Ratelimit") {
				got[name] = values[0]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", style, got, want)
		}
	}
	// No response tells a client to retry immediately.
	for wait, want := range map[time.Duration]string{0: "1", 1: "1", time.Second + 1: "2", headgate.Never: ""} {
		h := http.Header{}
		if wire.RetryAfter(h, wait); h.Get("Retry-After") != want {
			t.Errorf("a wait of %s: Retry-After %q, want %q", wait, h.Get("Retry-After"), want)
		}
	}
	// If a request's cost can never pass, its denial contains no Retry-After.
	p := limiter(t).PolicyOf("p", rule.FixedWindow(rule.PerMinute(5)))
	if w := get(httplimit.New(p, httplimit.All(), httplimit.WithCost(cost))(hello), with("X-Big", "1")); w.Code != 429 || w.Header().Get("Retry-After") != "" {
		t.Errorf("a cost above the limit: %d %v", w.Code, w.Header())
	}
}

// Regression: bug 37. An inner middleware adds its limit to the outer middleware's two draft fields.
func TestNestedMiddlewares(t *testing.T) {
	outer := httplimit.New(limiter(t).PolicyOf("all", rule.FixedWindow(rule.PerHour(9))), httplimit.All())
	inner := httplimit.New(limiter(t).PolicyOf("route", rule.FixedWindow(rule.PerHour(1))), httplimit.All())
	h := outer(inner(hello))
	for i, want := range []string{`"all";r=8;t=3600, "route";r=0;t=3600`, `"all";r=7;t=3600, "route";r=0;t=3600`} {
		w := get(h)
		fields, policies := w.Header().Values("Ratelimit"), w.Header().Values("Ratelimit-Policy")
		if fmt.Sprint(fields) != "["+want+"]" || fmt.Sprint(policies) != `["all";q=9;w=3600, "route";q=1;w=3600]` || w.Code != []int{200, 429}[i] {
			t.Errorf("request %d: %d %s %s, want %s", i, w.Code, fields, policies, want)
		}
	}
}

// away is a store that does not answer.
type away struct{ engine.Store }

func (away) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		if results[i].Err == nil { // an operation that cannot be decided already has its error
			results[i].Err = headgate.ErrStoreUnavailable
		}
	}
}

// While the store does not answer, requests get a 503, or are served with FailOpen.
func TestStoreAway(t *testing.T) {
	p := headgate.New(headgate.WithStore(away{})).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1)))
	if w := get(httplimit.New(p, httplimit.All())(hello)); w.Code != http.StatusServiceUnavailable || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get(httplimit.New(p, httplimit.All(), httplimit.WithError(httplimit.FailOpen))(hello)); w.Code != http.StatusOK {
		t.Errorf("fail open: %d", w.Code)
	}
}

// decider denies every second request.
type decider struct{ n int }

func (d *decider) AllowRequest(*http.Request) (headgate.Decision, error) {
	switch d.n++; d.n {
	case 1:
		return headgate.Decision{Allowed: true, Unlimited: true}, nil
	case 2:
		return headgate.Decision{RetryAfter: headgate.Never}, nil
	default:
		return headgate.Decision{}, errors.New("unknown")
	}
}

// A decider needs no policy. The response to an unlimited request contains no rate-limit headers. Responses written by
// the program replace the middleware's.
func TestDecider(t *testing.T) {
	denied := func(w http.ResponseWriter, _ *http.Request, _ headgate.Decision) { w.WriteHeader(http.StatusTeapot) }
	h := httplimit.By(&decider{}, httplimit.WithDenied(denied))(hello)
	for i, want := range []int{http.StatusOK, http.StatusTeapot, http.StatusServiceUnavailable} {
		w := get(h)
		if w.Code != want || rateLimit(w) != "" || (w.Header().Get("Retry-After") != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("request %d: %d %v, want %d", i, w.Code, w.Header(), want)
		}
	}
}

// A final cost with a decider that cannot settle causes an error. Otherwise the first charge would silently be kept.
func TestFinalCostNeedsSettler(t *testing.T) {
	var problem error
	failed := func(w http.ResponseWriter, _ *http.Request, _ http.Handler, err error) {
		problem = err
		w.WriteHeader(http.StatusTeapot)
	}
	h := httplimit.By(&decider{}, httplimit.WithFinalCost(httplimit.OnlyFailures), httplimit.WithError(failed))(hello)
	if w := get(h); w.Code != http.StatusTeapot || problem == nil || !strings.Contains(problem.Error(), "needs a Settler") {
		t.Errorf("%d, %v", w.Code, problem)
	}
}

// The handler receives the server's own ResponseWriter, so it can flush, hijack and so on.
func TestResponseWriterIsTheServers(t *testing.T) {
	var got http.ResponseWriter
	p := limiter(t).PolicyOf("p", rule.TokenBucket(rule.PerSecond(1)))
	h := httplimit.New(p, httplimit.All())(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = w }))
	if w := get(h); got != http.ResponseWriter(w) {
		t.Errorf("the handler got %T", got)
	}
}

// discard is a ResponseWriter that allocates nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// An allowed request from an IPv4 address needs at most one allocation, for the headers.
func TestAllocations(t *testing.T) {
	p := headgate.New().PolicyOf("per-ip", rule.TokenBucket(rule.PerSecond(1_000_000)))
	h := httplimit.New(p, httplimit.ByIP())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	w := &discard{header: http.Header{}}
	if n := testing.AllocsPerRun(1000, func() { clear(w.header); h.ServeHTTP(w, r) }); n > 1 {
		t.Errorf("%.0f allocations", n)
	} else {
		t.Logf("%.0f allocations", n)
	}
}

// TestKeysThatOccurTwice checks that a header, cookie or query field with several different values cannot be read,
// because the handler may read another one than the key (regression: bug 97). It also checks that a client cannot send
// the hash of a long key (regression: bug 98).
func TestKeysThatOccurTwice(t *testing.T) {
	for _, c := range []struct {
		query, header, cookie []string
		ok                    bool
	}{
		{[]string{"a"}, []string{"a"}, []string{"sid=a"}, true},
		{[]string{"a", "a"}, []string{"a", "a"}, []string{"sid=a", "x=b; sid=a"}, true},
		{[]string{"a", "b"}, []string{"a", "b"}, []string{"sid=a; sid=b"}, false},
		{[]string{"", "b"}, []string{"", "b"}, []string{"sid=", "sid=b"}, false},
		{[]string{"a", ""}, []string{"a", ""}, []string{"sid=a", "sid="}, false},
		{[]string{"a"}, []string{"a"}, []string{"sid=%61; x=%zz; sid=  a"}, true}, // one value for gin and fiber
	} {
		r := httptest.NewRequest(http.MethodGet, "/?token="+strings.Join(c.query, "&token="), http.NoBody)
		r.Header["X-User"], r.Header["Cookie"] = c.header, c.cookie
		for i, key := range []httplimit.Key{httplimit.ByQuery("token"), httplimit.ByHeader("X-User"), httplimit.ByCookie("sid")} {
			if got, ok := key(r); ok != c.ok || ok && got != "a" {
				t.Errorf("key %d of %+v: %q, %t", i, c, got, ok)
			}
			if got, ok := httplimit.Or(key, httplimit.ByIP())(r); ok != c.ok || ok && got != "0:a" { // not by the address (regression: bug 232)
				t.Errorf("key %d of %+v, or the address: %q, %t", i, c, got, ok)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/?q=100%&token=a&x;token=b", http.NoBody) // Query().Get reads a
	if got, ok := httplimit.Or(httplimit.ByQuery("token"), httplimit.ByIP())(r); !ok || got != "0:a" {
		t.Errorf("a malformed query: %q, %t", got, ok)
	}
	r.Header["X-User"] = []string{"a", "b"}
	limiter := headgate.New()
	defer limiter.Close()
	_, err := httplimit.NewMiddleware(limiter.Policy("p", headgate.FixedWindow{Rate: headgate.PerHour(1)}), httplimit.Join(httplimit.All(), httplimit.ByHeader("X-User"))).Decide(r)
	if want := "a part of the request's key cannot be read: header X-User"; err == nil || err.Error() != "httplimit: "+want {
		t.Errorf("%v, want %s", err, want)
	}
	r = httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "BASIC  YTpi")
	if key, ok := httplimit.ByHeader("authorization")(r); !ok || key != "basic YTpi" { // regression: bug 217
		t.Errorf("%q, %t", key, ok)
	}
	r.Header.Set("X-User", strings.Repeat("x", engine.MaxKeyBytes+1))
	long, _ := httplimit.HashLong(httplimit.ByHeader("X-User"))(r)
	r.Header.Set("X-User", long)
	if again, ok := httplimit.HashLong(httplimit.ByHeader("X-User"))(r); !ok || again == long {
		t.Errorf("the hash of a long key is counted under the long key: %q", again)
	}
}
