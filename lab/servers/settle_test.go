package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// In an outage a server settles the reservations of another server, although no request has needed the secret that
// signs them before (regression: bug NNN3: 503 until Redis was back). The store gets the settlement afterwards.
func TestAnotherServerSettlesInAnOutage(t *testing.T) {
	t.Parallel()
	base, err := policy.Parse("p.yaml", []byte("policies: {p: {algorithm: fixed-window, limit: 40, window: 1d}}"))
	if err != nil {
		t.Fatal(err)
	}
	s := redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
	start := func() *web {
		return openWeb(t, daemon.Config{
			Store: "redis://" + s.Addr(), Base: base, Deadline: 50 * time.Millisecond, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
		})
	}
	idle := start()
	testbed.Until(t, "the secret is known", func() bool { return fmt.Sprint(s.MustDo("keys", "*reservations/secret*")) != "[]" })
	busy := start()
	var reserved struct{ Mode, Reservation string }
	key := ""
	testbed.Until(t, "Redis has decided", func() bool { // on a busy machine a share may decide first
		key += "k"
		_, body := busy.status("/v1/reserve", `{"policy":"p","key":"`+key+`","cost":10}`)
		return json.Unmarshal([]byte(body), &reserved) == nil && reserved.Mode == "exact"
	})
	s.Kill()
	if code, body := idle.status("/v1/commit", `{"reservation":"`+reserved.Reservation+`","actual":3}`); code != http.StatusOK || body != `{"settled":true}`+"\n" {
		t.Fatalf("%d %s", code, body)
	}
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
