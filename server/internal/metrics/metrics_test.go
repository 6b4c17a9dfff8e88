package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/envoy"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/service"
)

const file = `
policies:
  api: {algorithm: token-bucket, rate: 1/1h, burst: 3}
  trial: {algorithm: token-bucket, rate: 1/1h, burst: 1, shadow: true}
  both: {all: [api, trial]}
`

func parse(t testing.TB, text string) *policy.Set {
	t.Helper()
	config, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return config.Policies
}

// world is a service whose calls are counted.
type world struct {
	metrics *metrics.Metrics
	service *service.Service
	store   *failing
}

// failing is a store that can be made to fail.
type failing struct {
	engine.Store

	err error
}

func (f *failing) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if f.err == nil {
		f.Store.Do(ctx, ops, results)
		return
	}
	for i := range results {
		results[i].Err = f.err
	}
}

func (f *failing) Unwrap() engine.Store { return f.Store }

func newWorld(t testing.TB, text string) *world {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{metrics: metrics.New("v1"), store: &failing{Store: store}}
	set := parse(t, text)
	w.metrics.SetPolicies(set)
	limiter := core.New(core.Config{Store: w.store})
	t.Cleanup(func() { _ = limiter.Close() })
	w.service = service.New(service.Config{Limiter: limiter, Policies: set, Observer: w.metrics})
	return w
}

func (w *world) do(from service.FrontEnd, requests ...decide.Request) {
	w.service.Do(context.Background(), from, requests, make([]decide.Response, len(requests)))
}

// values returns the values of counters and gauges, by name and label values.
func values(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "headgate_") + labels(m)
			switch {
			case m.GetCounter() != nil:
				all[name] = m.GetCounter().GetValue()
			case m.GetGauge() != nil:
				all[name] = m.GetGauge().GetValue()
			case m.GetHistogram() != nil:
				all[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return all
}

func labels(m *dto.Metric) string {
	text := ""
	for _, l := range m.GetLabel() {
		text += " " + l.GetName() + "=" + l.GetValue()
	}
	return text
}

func TestDecisionsByPolicyOutcomeModeAndFrontEnd(t *testing.T) {
	w := newWorld(t, file)
	take := decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "both", Key: "k"}}
	w.do(service.RESP, take, take, take, take, take)
	w.do(service.HTTP, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Key: "k", Limit: rule.TokenBucket(rule.PerSecond(5))}})
	w.do(service.HTTP, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "absent", Key: "k"}}, decide.Request{Kind: engine.OpPeek, Item: decide.Item{Policy: "api", Key: "k"}})
	w.do(service.HTTP, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api"}})
	w.store.err = engine.ErrStoreUnavailable
	w.do(service.RESP, take)
	w.do(service.GRPC, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Key: "k", Limit: rule.TokenBucket(rule.PerSecond(5))}})
	got := values(t, w.metrics.Gatherer())
	for name, want := range map[string]float64{
		"decisions_total frontend=grpc mode= outcome=unknown policy=(inline)":      1,
		"decisions_total frontend=resp mode=exact outcome=allowed policy=both":     3,
		"decisions_total frontend=resp mode=exact outcome=denied policy=both":      2,
		"decisions_total frontend=resp mode= outcome=unknown policy=both":          1,
		"decisions_total frontend=http mode=exact outcome=allowed policy=(inline)": 1,
		"decisions_total frontend=http mode= outcome=invalid policy=(other)":       1,
		"decisions_total frontend=http mode= outcome=invalid policy=api":           1,
		"other_requests_total frontend=http verb=peek":                             1,
		"shadow_decisions_total outcome=allowed policy=trial":                      1,
		"shadow_decisions_total outcome=denied policy=trial":                       4,
		"shadow_decisions_total outcome=unknown policy=trial":                      1,
		"decision_seconds frontend=resp":                                           2,
		"decision_requests frontend=http":                                          3,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for name := range got {
		if strings.Contains(name, "absent") {
			t.Errorf("%s: a label that a client chose", name)
		}
	}
}

// TestReloadKeepsCounts checks that rows follow the names of policies, not their positions, even for a call that
// began under the previous policies.
func TestReloadKeepsCounts(t *testing.T) {
	w := newWorld(t, file)
	take := decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api", Key: "k"}}
	w.do(service.RESP, take)
	next := parse(t, "policies:\n  a: 1/1h\n  api: 1/1h\n")
	w.metrics.SetPolicies(next) // the new policies are not active yet
	w.do(service.RESP, take)
	w.service.SetPolicies(next, nil)
	w.do(service.RESP, take, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "a", Key: "k"}})
	got, sum := values(t, w.metrics.Gatherer()), 0.0
	for _, outcome := range []string{"allowed", "denied"} {
		sum += got["decisions_total frontend=resp mode=exact outcome="+outcome+" policy=api"]
	}
	if sum != 3 || got["decisions_total frontend=resp mode=exact outcome=allowed policy=a"] != 1 {
		t.Errorf("api was decided %v times, want 3; all: %v", sum, got)
	}
}

func TestScrapeOfThousandPolicies(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("policies:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  p%d: 10/s\n", i)
	}
	w := newWorld(t, text.String())
	for i := range 1000 {
		for from := range service.FrontEnds {
			w.do(from, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: fmt.Sprint("p", i), Key: "k"}})
		}
	}
	server := httptest.NewServer(w.metrics.Handler())
	defer server.Close()
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		r, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || strings.Count(string(body), "headgate_decisions_total{") < 4000 {
			t.Fatalf("%v, %d bytes", err, len(body))
		}
		fastest = min(fastest, time.Since(began))
	}
	t.Logf("a scrape with 1000 policies takes %v", fastest)
}

func TestNativeHistograms(t *testing.T) {
	w := newWorld(t, file)
	w.do(service.RESP, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api", Key: "k"}})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	answer := httptest.NewRecorder()
	w.metrics.Handler().ServeHTTP(answer, r)
	if got := answer.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/vnd.google.protobuf") {
		t.Errorf("content type %s", got)
	}
	families, err := w.metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "headgate_decision_seconds" {
			for _, m := range f.GetMetric() {
				if m.GetHistogram().GetSampleCount() == 1 && len(m.GetHistogram().GetPositiveSpan()) == 0 {
					t.Error("decision_seconds has no native buckets")
				}
			}
		}
	}
}

func TestServerState(t *testing.T) {
	w := newWorld(t, file)
	w.do(service.RESP, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api", Key: "k"}})
	err := w.metrics.Add(&metrics.Server{
		Store:   w.store,
		Doubted: func() bool { return true }, Outage: func() metrics.Outage {
			return metrics.Outage{Away: true, Class: "out_of_memory", For: 2 * time.Second, Outages: 3, Total: time.Minute, Unknown: 7}
		},
		Generation: func() uint64 { return 4 }, Changes: func() int { return 1 }, WhenErrors: func() uint64 { return 5 },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.metrics.Reloaded(nil)
	w.metrics.Reloaded(errors.New("a file with errors"))
	w.metrics.File("users-file")(errors.New("a file with errors"))
	w.metrics.File("users-file")(nil) // another listener's
	w.metrics.File("config")(nil)
	w.metrics.Certificate("http", func() time.Time { return time.Unix(1800000000, 0) })
	w.service.Refused(service.HTTP, service.Untrusted)
	refused := metrics.Refused{WrongSecrets: func(service.FrontEnd) uint64 { return 0 }, Requests: w.service.Refusals, Serving: w.metrics.Serving}
	if err := w.metrics.Add(metrics.Refusals.Of(func() metrics.Refused { return refused })); err != nil {
		t.Fatal(err)
	}
	w.metrics.Called(5, time.Millisecond)
	w.metrics.Wrap(w.store).Do(t.Context(), nil, nil)
	got := values(t, w.metrics.Gatherer())
	for name, want := range map[string]float64{
		"store_up": 0, "store_away class=out_of_memory": 1, "store_away_seconds": 2, "store_outages_total": 3, "store_away_seconds_total": 60, "store_unknown_total": 7,
		"policies_generation": 4, "route_when_errors_total": 5, "policy_changes": 1, "memory_keys": 1, "store_errors_total class=full": 0,
		"policy_reloads_total result=ok": 1, "policy_reloads_total result=error": 1, "file_invalid file=users-file": 1, "file_invalid file=config": 0,
		"certificate_end_timestamp_seconds listener=http": 1800000000, "refused_requests_total frontend=http reason=untrusted": 1, "store_call_operations": 1,
		"store_queue_seconds": 1, "store_call_seconds": 1, "build_info goversion=" + goVersion + " version=v1": 1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%t), want %v", name, value, ok, want)
		}
	}
}

// TestEnvoyLabels compares the labels with envoyproxy/ratelimit's mapping file: the first three parts of a name, also of
// a name with dots in its domain or values. lab/envoy TestSameSeries compares them with its running server.
func TestEnvoyLabels(t *testing.T) {
	m := metrics.New("v1")
	err := m.Add(metrics.Envoy(func() envoy.Stats {
		return envoy.Stats{ConfigLoadSuccess: 2, StoreError: 3, Rules: []envoy.Series{
			{Name: "shop.user", TotalHits: 5, OverLimit: 1},
			{Name: "shop.user.path_/x", NearLimit: 2},
			{Name: "shop.user.path.a", TotalHits: 1},
			{Name: "shop.user.path.b", TotalHits: 2},
			{Name: "shop.user.path.b.c.d", TotalHits: 4},
			{Name: "shop.example.com.user", TotalHits: 6},
		}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := values(t, m.Gatherer())
	for name, want := range map[string]float64{
		"ratelimit_service_rate_limit_total_hits domain=shop key1=user":              5,
		"ratelimit_service_rate_limit_over_limit domain=shop key1=user":              1,
		"ratelimit_service_rate_limit_near_limit domain=shop key1=user key2=path_/x": 2,
		"ratelimit_service_rate_limit_total_hits domain=shop key1=user key2=path":    7,
		"ratelimit_service_rate_limit_total_hits domain=shop key1=example key2=com":  6,
		"ratelimit_service_config_load_success":                                      2,
		"ratelimit_service_should_rate_limit_error err_type=redis_error":             3,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%t), want %v", name, value, ok, want)
		}
	}
	if value, ok := got["ratelimit_service_rate_limit_over_limit domain=shop key1=user key2=path"]; ok {
		t.Errorf("a series that counted nothing has the value %v", value)
	}
}

// TestSeriesThatIsNotText checks that a series whose name is not valid UTF-8 neither makes a scrape fail nor hides
// other series.
func TestSeriesThatIsNotText(t *testing.T) {
	stats := envoy.Stats{Rules: []envoy.Series{{Name: "shop.caf\xe9", TotalHits: 1}, {Name: "shop.caf\xff", TotalHits: 2}, {Name: "shop.tea", TotalHits: 4}}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Envoy(func() envoy.Stats { return stats }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range families {
		if f.GetName() == "ratelimit_service_rate_limit_total_hits" {
			for _, m := range f.Metric {
				got += fmt.Sprintf("%s %v\n", m.Label[1].GetValue(), m.Counter.GetValue())
			}
		}
	}
	if got != "caf� 3\ntea 4\n" {
		t.Errorf("%q", got)
	}
}
