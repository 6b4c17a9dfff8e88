package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// ofTwo returns a function that starts one of two servers on a Redis, with the policy p.
func ofTwo(t *testing.T, s *redistest.Server, p string) (start func() *web) {
	t.Helper()
	base, err := policy.Parse("p.yaml", []byte("policies: {p: "+p+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return func() *web {
		return openWeb(t, daemon.Config{
			Store: "redis://" + s.Addr(), Base: base, Deadline: 50 * time.Millisecond, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
		})
	}
}

// reserve reserves 10 units, of another key each time, until the answer has the mode. On a busy machine a share may decide
// while Redis is there.
func (w *web) reserve(mode string) (key, reservation string) {
	w.t.Helper()
	var r struct{ Mode, Reservation string }
	testbed.Until(w.t, "the mode is "+mode, func() bool {
		key += "k"
		_, body := w.status("/v1/reserve", `{"policy":"p","key":"`+key+`","cost":10}`)
		return json.Unmarshal([]byte(body), &r) == nil && r.Mode == mode
	})
	return key, r.Reservation
}

// settles sends a commit or report of three units, and checks the answer.
func (w *web) settles(verb, reservation, want string) {
	w.t.Helper()
	if code, body := w.status("/v1/"+verb, `{"reservation":"`+reservation+`","actual":3}`); code != http.StatusOK || strings.TrimSpace(body) != want {
		w.t.Errorf("%s: %d %s, want %s", verb, code, body, want)
	}
}

func secretKnown(t *testing.T, s *redistest.Server) {
	t.Helper()
	testbed.Until(t, "the store has the secret", func() bool { return fmt.Sprint(s.MustDo("keys", "*reservations/secret*")) != "[]" })
}

// In an outage a server settles the reservations of another server, although no request has needed the secret that
// signs them before (regression: bug 245: 503 until Redis was back). The store gets the settlement afterwards.
func TestAnotherServerSettlesInAnOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
	start := ofTwo(t, s, "{algorithm: fixed-window, limit: 40, window: 1d}")
	idle := start()
	secretKnown(t, s)
	busy := start()
	key, reservation := busy.reserve("exact")
	s.Kill()
	idle.settles("commit", reservation, `{"settled":true}`)
	s.Start()
	testbed.Until(t, "the store has the settlement", func() bool {
		_, body := busy.status("/v1/peek", `{"policy":"p","key":"`+key+`"}`)
		var r struct {
			Mode      string
			Remaining int
		}
		return json.Unmarshal([]byte(body), &r) == nil && r.Mode == "exact" && r.Remaining == 37
	})
}

// A store that has lost its data gets its secret back, so that servers that start later sign and settle with it
// (regression: bug 246: for a minute servers answered each other's reservations by 400).
func TestSecretOutlivesALoss(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	start := ofTwo(t, s, "{algorithm: fixed-window, limit: 40, window: 1d, failure: allow}")
	first := start()
	_, before := first.reserve("exact")
	s.MustDo("flushall")
	secretKnown(t, s)
	second := start()
	_, after := second.reserve("fallback")
	first.settles("commit", after, `{"settled":true}`)
	if code, body := second.status("/v1/cancel", `{"reservation":"`+before+`"}`); code != http.StatusOK {
		t.Errorf("a reservation from before the loss: %d %s", code, body)
	}
}

// A reservation that a share made under a policy with a term has none, so a report changes nothing (regression: bug 247:
// 400, as if the policy had no settle_within).
func TestReportToAShare(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := ofTwo(t, s, "{algorithm: fixed-window, limit: 40, window: 1d, settle_within: 1m}")()
	_, reservation := w.reserve("exact")
	w.settles("report", reservation, `{"open":true}`)
	s.Kill()
	_, reservation = w.reserve("fallback")
	w.settles("report", reservation, `{"open":true}`)
	w.settles("commit", reservation, `{"settled":true}`)
}

// A server that stops during an outage says what it could not send to the store (regression: bug 248: nothing told that
// a settlement that it had accepted was lost).
func TestStopLogsWhatIsOwed(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := ofTwo(t, s, "{algorithm: fixed-window, limit: 40, window: 1d}")()
	_, reservation := w.reserve("exact")
	s.Kill()
	w.settles("commit", reservation, `{"settled":true}`)
	w.stop()
	if lost := w.log.lines("settlements and permits are lost"); len(lost) != 1 || !strings.Contains(lost[0], "level=WARN") || !strings.Contains(lost[0], " count=1") {
		t.Errorf("%q", lost)
	}
}
