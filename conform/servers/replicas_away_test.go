package servers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// While no replica answers, each charge on a policy with replicas and "failure: deny" returns an error that describes
// the charge. The store is not considered unavailable, the server remains ready, and other policies are decided
// exactly. Operators can see which charges are not replicated.
func TestNoReplicaAnswers(t *testing.T) {
	t.Parallel()
	const strict, other = `{"policy":"strict","key":"k"}`, `{"policy":"other","key":"k"}`
	base, err := policy.Parse("p.yaml", []byte(`policies:
  strict: {algorithm: fixed-window, limit: 10, window: 1h, failure: deny, replicas: 1, replica_timeout: 300ms}
  other:  {algorithm: fixed-window, limit: 10, window: 1h, failure: deny}
`))
	if err != nil {
		t.Fatal(err)
	}
	primary, replica := redistest.Replicated(t, redistest.Redis)
	w := openWeb(t, daemon.Config{
		Store: "redis://" + primary.Addr(), Base: base, Admin: daemon.AdminConfig{Address: "127.0.0.1:0"}, Deadline: 10 * time.Second,
		StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
	})
	w.until(http.StatusOK, "/readyz", "")
	w.until(http.StatusOK, "/v1/allow", `{"policy":"strict","key":"first"}`)
	before := w.scrape()
	const takes = 3
	unanswered := func() {
		t.Helper()
		for range takes {
			if status, body := w.status("/v1/allow", strict); status != http.StatusServiceUnavailable || !strings.Contains(body, "charged, and the store could not confirm it: not_replicated") {
				t.Errorf("%d %s, want 503 and that it was charged", status, body)
			}
			w.want(http.StatusOK, other)
			w.until(http.StatusOK, "/readyz", "")
			if up := w.scrape()["headgate_store_up"]; up != 1 {
				t.Errorf("headgate_store_up is %v while the store answers", up)
			}
		}
	}
	replica.Pause()
	unanswered() // a replica that hangs
	replica.Resume()
	replica.Kill()
	unanswered() // no replica
	got := w.scrape()
	for series, more := range map[string]float64{
		"headgate_store_outages_total":                                                            0,
		"headgate_store_unknown_total":                                                            2 * takes,
		`headgate_store_errors_total{class="not_replicated"}`:                                     2 * takes,
		`headgate_decisions_total{frontend="http",mode="exact",outcome="allowed",policy="other"}`: 2 * takes,
		`headgate_decisions_total{frontend="http",mode="",outcome="unknown",policy="strict"}`:     2 * takes,
	} {
		if got[series] != before[series]+more {
			t.Errorf("%s is %v, want %v", series, got[series], before[series]+more)
		}
	}
	if away, told := w.log.lines("store away"), w.log.lines("charges have reached too few replicas"); len(away) != 0 || len(told) != 1 {
		t.Errorf("the log has %q and %q, want one line about replicas", away, told)
	}
	if _, body := w.status("/v1/peek", strict); !strings.Contains(body, `"remaining":4`) {
		t.Errorf("six units are charged: %s", body)
	}
	replica.Start()
	w.until(http.StatusOK, "/v1/allow", `{"policy":"strict","key":"last"}`)
}
