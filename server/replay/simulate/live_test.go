package simulate

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/httpapi"
	"github.com/headgate/headgate/server/replay/accesslog"
	"github.com/headgate/headgate/server/service"
)

// everything has limits of every algorithm that a route can charge, overrides, shadows, costs,
// and routes with every part of a key.
const everything = `
policies:
  bucket:  {algorithm: token-bucket, rate: 5/s, burst: 12}
  warm:    {algorithm: warm-up, rate: 8/s, warm_up: 3s, burst: 4}
  fixed:   {algorithm: fixed-window, limit: 9, window: 2s}
  clock:   {algorithm: fixed-window, limit: 40, window: 1m, align: clock}
  day:     {algorithm: fixed-window, limit: 700, window: 1d, align: Asia/Shanghai}
  window:  {algorithm: sliding-window, limit: 11, window: 3s, segments: 3}
  strict:  {algorithm: sliding-window, limit: 11, window: 3s, variant: strict, segments: 6}
  log:     {algorithm: sliding-log, windows: [{limit: 4, window: 1s}, {limit: 20, window: 20s}]}
  denied:  {algorithm: sliding-log, limit: 5, window: 1s, count_denied: true}
  pacer:   {algorithm: pacer, rate: 6/s, max_wait: 700ms}
  trial:   {algorithm: token-bucket, rate: 5/s, burst: 3, shadow: true}
  beside:  {algorithm: token-bucket, rate: 9/s, shadow: {algorithm: fixed-window, limit: 3, window: 1s}}
  both:    {all: [bucket, {name: slow, algorithm: sliding-log, limit: 30, window: 10s}], cost: 2}
  off:     {algorithm: fixed-window, limit: 1, window: 1d, enabled: false}
overrides:
  - {policy: bucket, key: "10.0.0.3", set: {rate: 1/s, burst: 2}}
  - {policy: bucket, key: "10.0.0.4", deny: true}
  - {policy: fixed, key: "10.0.0.*", set: {limit: 5}}
  - {policy: fixed, key: "10.0.0.5", unlimited: true}
trusted_proxies: [127.0.0.0/8]
routes:
  - {match: {path: "/users/{id}", method: [POST]}, key: [{path: id}, {client_ip: {}}], policies: [bucket, window]}
  - {match: {path: "/users/{id}/**"}, key: [{path: id}], policies: [strict, trial]}
  - {match: {host: "*.example.com"}, key: [{client_ip: {}}], policies: [both, off, day]}
  - {match: {query: {q: "*"}}, key: [{query: q}], empty_key: skip, policies: [log]}
  - {match: {path: "/pace"}, key: [{client_ip: {v6_prefix: 56}}], policies: [pacer]}
  - {match: {path: "/cost"}, key: [{header: X-User}], cost: {header: X-Cost, max: 6}, policies: [warm, beside]}
  - {match: {path: "/cookie"}, key: [{cookie: sid}], policies: [denied]}
  - {match: {client: [10.0.0.0/30]}, key: [{client_ip: {}}], policies: [fixed, clock]}
  - {match: {when: 'request.path.startsWith("/when") && request.headers["x-user"] == "anna"'}, key: [{const: all}], policies: [window]}
  - {match: {path: "/rest/**"}, key: [{client_ip: {}}], policies: [fixed]}
`

// draw makes a request. Times go forward by nothing, a little or a lot.
func draw(r *rand.Rand, now *int64) accesslog.Request {
	paths := []string{"/users/7", "/users/8", "/users/7/x//y/", "/users/%37/../9", "/pace", "/cost", "/cookie", "/when/x", "/when/y", "/when/z", "/rest/a", "/", "/nothing"}
	switch n := r.IntN(300); {
	case n < 60:
	case n == 60:
		*now += r.Int64N(20_000_000)
	default:
		*now += r.Int64N(7_000)
	}
	q := accesslog.Request{Time: *now, Method: []string{"GET", "POST", "HEAD", "post"}[r.IntN(4)], Path: paths[r.IntN(len(paths))], Host: "other.org", Size: -1}
	q.Client = netip.AddrFrom4([4]byte{10, 0, 0, []byte{1, 2, 3, 3, 4, 5}[r.IntN(6)]})
	if r.IntN(8) == 0 {
		q.Client = netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", r.IntN(600)))
	}
	if r.IntN(6) == 0 {
		q.Host = "API.example.com:443"
	}
	if r.IntN(6) == 0 {
		q.Query = fmt.Sprintf("a=b&q=%d", r.IntN(3))
	}
	if r.IntN(2) == 0 {
		q.Headers = append(q.Headers, accesslog.Header{Name: "X-User", Value: []string{"anna", "bob"}[r.IntN(2)]})
	}
	if r.IntN(2) == 0 {
		q.Headers = append(q.Headers, accesslog.Header{Name: "Cookie", Value: fmt.Sprintf("a=b; sid=s%d", r.IntN(3))})
	}
	if r.IntN(3) == 0 {
		q.Headers = append(q.Headers, accesslog.Header{Name: "X-Cost", Value: fmt.Sprint(r.IntN(9))})
	}
	return q
}

// ask sends a request to a live server, as a proxy on this machine does.
func ask(h http.Handler, q *accesslog.Request) int {
	r := httptest.NewRequest(http.MethodGet, "/v1/authorize", nil)
	r.RemoteAddr = "127.0.0.1:4711"
	for _, header := range q.Headers {
		r.Header.Add(header.Name, header.Value)
	}
	target := q.Path
	if q.Query != "" {
		target += "?" + q.Query
	}
	r.Header.Set("X-Forwarded-Method", q.Method)
	r.Header.Set("X-Forwarded-Host", q.Host)
	r.Header.Set("X-Forwarded-Uri", target)
	r.Header.Set("X-Forwarded-For", q.Client.String())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// TestAnswersAreThoseOfALiveServer asks a server over HTTP and the replay the same
// requests at the same times.
func TestAnswersAreThoseOfALiveServer(t *testing.T) {
	config, err := policy.Parse("live.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	const requests = 16_000
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := service.New(service.Config{Limiter: headgate.New(headgate.WithStore(store))})
	server.SetPolicies(config.Policies, config.Routes)
	handler := httpapi.New(server)
	s, err := New(config, DefaultMaxKeys)
	if err != nil {
		t.Fatal(err)
	}
	r, now := rand.New(rand.NewPCG(16, 1)), clock.Now().UnixMicro()
	refused, differences := map[int]int{}, 0
	for range requests {
		q := draw(r, &now)
		clock.Set(time.UnixMicro(now))
		a, status := s.Decide(t.Context(), &q), ask(handler, &q)
		if a.Err != nil {
			t.Fatalf("%+v: %v", q, a.Err)
		}
		if !a.Allowed {
			refused[a.Route]++
		}
		if a.Allowed != (status == http.StatusOK) {
			if differences++; differences < 5 {
				t.Errorf("%+v: replay %+v, server %d", q, a, status)
			}
		}
	}
	if differences > 0 {
		t.Errorf("%d differences of %d requests", differences, requests)
	}
	for i := range config.Routes.Routes() {
		if refused[i] == 0 {
			t.Errorf("route %d refused nothing: the test asks too little of it", i)
		}
	}
}

func TestNeedsNameEachFieldOfTheRoutes(t *testing.T) {
	config, err := policy.Parse("live.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range Needs(config, "live.yaml") {
		got = append(got, strings.TrimPrefix(n.By, "route ")+" "+n.String())
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"0 (live.yaml:24) the method", "0 (live.yaml:24) the client", "2 (live.yaml:26) the host", "3 (live.yaml:27) the query",
		"5 (live.yaml:29) the header X-User", "5 (live.yaml:29) the header X-Cost", "6 (live.yaml:30) the cookie sid",
		"7 (live.yaml:31) the client", "8 (live.yaml:32) the header x-user",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "9 (live.yaml:33) the host") {
		t.Error("route 9 needs no host")
	}
}
