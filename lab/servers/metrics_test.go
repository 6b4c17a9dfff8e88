package servers

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

const metricsFile = `
policies:
  live: {algorithm: token-bucket, rate: 1000000/s, failure: deny}
  open: {algorithm: token-bucket, rate: 1/1h, burst: 1, failure: allow}
  hot:  {algorithm: token-bucket, rate: 1000000/s, mode: leased}
  trial: {algorithm: token-bucket, rate: 1/1h, burst: 2, shadow: true}
  both: {all: [live, trial]}
`

// scrape returns the values from /metrics by series.
func (w *web) scrape() map[string]float64 {
	w.t.Helper()
	return series(w.t, w.admin(http.MethodGet, "/metrics", ""))
}

// series returns the values in the text of /metrics, by series.
func series(t *testing.T, text string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		if at := strings.LastIndex(line, " "); !strings.HasPrefix(line, "#") && at > 0 {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			if err != nil {
				t.Fatal(line)
			}
			all[line[:at]] = value
		}
	}
	return all
}

// admin sends a request to the admin listener.
func (w *web) admin(method, path, body string) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://"+w.daemon.AdminAddr().String()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %v %d %s", path, err, response.StatusCode, text)
	}
	return string(text)
}

// TestOperatorSeesAnOutage kills and restarts Redis. The outage must be visible in two log lines and in the metrics.
// During the outage, the shadow must continue to count, and explain must continue to answer.
func TestOperatorSeesAnOutage(t *testing.T) {
	t.Parallel()
	const both, failsOpen, hot = `{"policy":"both","key":"k"}`, `{"policy":"open","key":"k"}`, `{"policy":"hot","key":"k"}`
	base, err := policy.Parse("p.yaml", []byte(metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	s := redistest.Standalone(t, redistest.Redis)
	w := openWeb(t, daemon.Config{
		Store: "redis://" + s.Addr(), Base: base, Admin: daemon.AdminConfig{Address: "127.0.0.1:0"},
		StoreOptions: open.Options{Prefetch: prefetch.Config{Life: time.Second, MaxUnits: 1000}},
	})
	w.until(http.StatusOK, "/v1/allow", both)
	for range 4 {
		w.want(http.StatusOK, both)
	}
	w.want(http.StatusOK, failsOpen)
	w.want(http.StatusTooManyRequests, failsOpen)
	// Units are prefetched once the server knows the number of servers.
	got := w.scrape()
	for end := time.Now().Add(20 * time.Second); got[`headgate_prefetch_operations_total{result="spent"}`] == 0 && time.Now().Before(end); got = w.scrape() {
		for range 2 * prefetch.DefaultHotAfter { // without a scrape in between, so that they are within one Life
			w.want(http.StatusOK, hot)
		}
	}
	for series, want := range map[string]float64{
		`headgate_store_up`:            1,
		`headgate_store_outages_total`: 0,
		`headgate_decisions_total{frontend="http",mode="exact",outcome="allowed",policy="both"}`: 5,
		`headgate_decisions_total{frontend="http",mode="exact",outcome="denied",policy="open"}`:  1,
		`headgate_shadow_decisions_total{outcome="denied",policy="trial"}`:                       3,
		`headgate_connections{frontend="admin"}`:                                                 1,
	} {
		if value, ok := got[series]; !ok || value != want {
			t.Errorf("%s is %v (%t), want %v", series, value, ok, want)
		}
	}
	for _, series := range []string{
		`headgate_store_round_trips_total`, `headgate_store_calls_total`, `headgate_store_operations_total`,
		`headgate_store_call_seconds_count`, `headgate_store_call_operations_count`, `headgate_store_queue_seconds_count`,
		`headgate_prefetch_operations_total{result="spent"}`, `headgate_prefetch_units_total{event="taken"}`,
		`headgate_bytes_total{direction="read",frontend="http"}`,
	} {
		if got[series] == 0 {
			t.Errorf("%s is 0", series)
		}
	}
	explain := w.admin(http.MethodPost, "/admin/v1/keys/explain", `{"policy":"open","key":"k"}`)
	if !strings.Contains(explain, `"allowed":false`) || !strings.Contains(explain, `"frees_at"`) {
		t.Error(explain)
	}

	s.Kill()
	w.until(http.StatusServiceUnavailable, "/v1/allow", both)
	w.want(http.StatusOK, `{"policy":"open","key":"another"}`)
	got = w.scrape()
	if got["headgate_store_up"] != 0 || got["headgate_store_unknown_total"] < 1 || got["headgate_store_outages_total"] != 1 ||
		got[`headgate_decisions_total{frontend="http",mode="",outcome="unknown",policy="both"}`] < 1 ||
		got[`headgate_decisions_total{frontend="http",mode="fallback",outcome="allowed",policy="open"}`] != 1 {
		t.Errorf("while Redis is away: %v", got)
	}
	if text := w.admin(http.MethodPost, "/admin/v1/keys/explain", `{"policy":"live","key":"k"}`); !strings.Contains(text, `"error":"`) {
		t.Errorf("explained without Redis: %s", text)
	}
	s.Restart()
	w.until(http.StatusOK, "/v1/allow", both)
	got = w.scrape()
	if got["headgate_store_up"] != 1 || got["headgate_store_away_seconds"] != 0 || got["headgate_store_away_seconds_total"] <= 0 {
		t.Errorf("Redis is back: %v", got)
	}
	if away, back := w.log.lines("store away"), w.log.lines("store back"); len(away) != 1 || len(back) != 1 {
		t.Errorf("%q %q", away, back)
	}
}
