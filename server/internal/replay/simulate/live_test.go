package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/service"
)

// draw returns a random request. The time stays the same, or advances a little or a lot.
func draw(r *rand.Rand, now *int64) accesslog.Request {
	paths := []string{"/users/7", "/users/8", "/users/7/x//y/", "/users/%39", "/pace", "/cost", "/cookie", "/when/x", "/when/y", "/when/z", "/rest/a", "/", "/nothing"}
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

// ask sends a request to a live server as a proxy on this machine would.
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

// TestAnswersEqualALiveServers sends the same requests at the same times to a server over HTTP and to the replay.
func TestAnswersEqualALiveServers(t *testing.T) {
	config, err := policy.Load("../../replay/simulate/testdata/live.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const requests = 16_000
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := service.New(service.Config{Limiter: core.New(core.Config{Store: store})})
	server.SetPolicies(config.Policies, config.Routes)
	handler := httpapi.New(server)
	s, err := simulate.New(config, simulate.DefaultMaxKeys)
	if err != nil {
		t.Fatal(err)
	}
	r, now := rand.New(rand.NewPCG(16, 1)), clock.Now().UnixMicro()
	denied, differences := map[int]int{}, 0
	for range requests {
		q := draw(r, &now)
		clock.Set(time.UnixMicro(now))
		a, status := s.Decide(t.Context(), &q), ask(handler, &q)
		if a.Err != nil {
			t.Fatalf("%+v: %v", q, a.Err)
		}
		if !a.Allowed {
			denied[a.Route]++
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
		if denied[i] == 0 {
			t.Errorf("route %d denied nothing: the test asks too little of it", i)
		}
	}
}
