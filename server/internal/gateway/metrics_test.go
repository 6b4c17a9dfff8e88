package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/service"
)

// series returns the number of time series in the metrics.
func series(t *testing.T, m *metrics.Metrics) (n int) {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		n += len(f.GetMetric())
	}
	return n
}

// TestMetricsAreBounded checks that 10 000 keys, hosts, methods and paths add no series.
func TestMetricsAreBounded(t *testing.T) {
	m := metrics.New("test")
	limiter := core.New(core.Config{})
	defer limiter.Close()
	g := startOn(t, service.Config{Limiter: limiter, Observer: m}, `
policies: {user: {`+hour+`}}
routes: [{match: {path: "/user/**"}, key: [{header: X-User}], policies: [user]}]
`, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	m.SetPolicies(g.service.Policies())
	if err := m.Add(gateway.Metrics.Of(func() *gateway.Gateway { return g.Gateway })); err != nil {
		t.Fatal(err)
	}
	ask := func(i int) {
		r := httptest.NewRequest(fmt.Sprint("M", i%7), fmt.Sprintf("http://host%d/user/%d?q=%d", i, i, i), nil)
		r.Header.Set("X-User", fmt.Sprint(i))
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("request %d: %d", i, w.Code)
		}
	}
	for i := range 100 {
		ask(i)
	}
	before := series(t, m)
	for i := range 10_000 {
		ask(i)
	}
	if after := series(t, m); after != before {
		t.Errorf("%d series after 100 keys, %d after 10 000", before, after)
	}
	if s := g.Stats(); len(s.Upstreams) != 1 || s.Upstreams[0].Answers[2] != 10_100 {
		t.Errorf("%+v", s)
	}
}
