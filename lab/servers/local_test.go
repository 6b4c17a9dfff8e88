package servers

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// localPolicies contains limits that recover in a second and in an hour, and a limit with failure mode deny.
const localPolicies = `
policies:
  hour: {algorithm: fixed-window, limit: 40, window: 1h}
  second: {algorithm: fixed-window, limit: 40, window: 1s}
  strict: {algorithm: fixed-window, limit: 40, window: 1h, failure: deny}
  jobs: {algorithm: concurrency, limit: 5, lease: 4s}
`

// answer is a server's answer to a take.
type answer struct {
	Allowed      bool   `json:"allowed"`
	Mode         string `json:"mode"`
	OvershootMax *int64 `json:"overshoot_max"`
}

// taken charges one unit under the named policy through the server, and returns the answer.
func taken(w *web, name string) (a answer) {
	w.t.Helper()
	status, body := w.status("/v1/allow", `{"policy":"`+name+`","key":"k"}`)
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK && status != http.StatusTooManyRequests {
		w.t.Errorf("%s: %d %s %v", name, status, body, err)
	}
	return a
}

// drain takes units from the servers in turn until all of them deny, and returns the number of units that passed. Every
// answer must have the mode fallback and state the given bound.
func drain(servers []*web, name string, bound int64) (passed int) {
	for denied := 0; denied < len(servers); {
		denied = 0
		for _, w := range servers {
			a := taken(w, name)
			switch {
			case a.Mode != "fallback" || a.OvershootMax == nil || *a.OvershootMax != bound:
				w.t.Errorf("%+v, want a bound of %d", a, bound)
				return passed
			case a.Allowed:
				passed++
			default:
				denied++
			}
		}
	}
	return passed
}

// acquired acquires permits until an acquire is denied, and returns their ids.
func acquired(w *web) (ids []string) {
	w.t.Helper()
	for len(ids) < 6 {
		code, body := w.status("/v1/acquire", `{"policy":"jobs","key":"k"}`)
		var a struct {
			ID   string `json:"id"`
			Mode string `json:"mode"`
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil || code != http.StatusOK && code != http.StatusTooManyRequests || a.Mode != "fallback" {
			w.t.Errorf("acquire: %d %s %v", code, body, err)
		}
		if code != http.StatusOK {
			return ids
		}
		ids = append(ids, a.ID)
	}
	return ids
}

// Two servers share the units that were left when Redis died, and together they stay within the limit. Redis comes back
// empty. Decisions on a limit that recovers in a second are soon exact again. An hourly limit is held to what the servers
// remember of it.
func TestServersShareInAnOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	file, err := policy.Parse("local.yaml", []byte(localPolicies))
	if err != nil {
		t.Fatal(err)
	}
	var servers []*web
	for range 2 {
		servers = append(servers, openWeb(t, daemon.Config{
			Store: "redis://" + s.Addr(), Base: file, Failure: policy.Local, Deadline: time.Second,
			StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
		}))
	}
	time.Sleep(4500 * time.Millisecond) // several beats, so that the servers find each other, plus the life of prefetched units
	for range 8 {
		for _, w := range servers {
			if a := taken(w, "hour"); !a.Allowed || a.Mode != "exact" {
				t.Fatalf("%+v", a)
			}
		}
	}
	s.Kill()
	// Of the 40 units, 24 are left. The first server has last seen 25 of them.
	if passed := drain(servers, "hour", 80); passed != 24 {
		t.Errorf("%d units of an hour passed in the outage, of 24 that were left", passed)
	}
	if passed := drain(servers, "second", 80); passed < 30 {
		t.Errorf("%d units of a second's 40 passed in the outage", passed)
	}
	if code, body := servers[0].status("/v1/allow", `{"policy":"strict","key":"k"}`); code != http.StatusServiceUnavailable {
		t.Errorf("failure deny: %d %s", code, body)
	}
	given := time.Now()
	held := acquired(servers[0])
	if len(held) != 2 {
		t.Errorf("%d permits of the share of 5", len(held))
	}
	s.Start()
	for _, w := range servers {
		for end := time.Now().Add(20 * time.Second); taken(w, "second").Mode != "exact"; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a limit of a second is not exact again")
			}
		}
	}
	for _, id := range held {
		if code, body := servers[0].status("/v1/release", `{"policy":"jobs","key":"k","id":"`+id+`"}`); code != http.StatusOK || !strings.Contains(body, `"released":true`) && time.Since(given) < 4*time.Second {
			t.Errorf("release of a permit of the outage: %d %s", code, body)
		}
	}
	for _, w := range servers { // the check for losses runs concurrently with the requests
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, body := w.status("/v1/peek", `{"policy":"hour","key":"k"}`); strings.Contains(body, `"mode":"fallback"`) {
				break
			}
		}
	}
	if passed := drain(servers, "hour", 40); passed > 40 {
		t.Errorf("%d units passed after Redis came back empty", passed)
	}
	away := servers[0].log.lines("store away")
	if len(away) != 1 || !strings.Contains(away[0], "error=") {
		t.Errorf("log: %q", away)
	}
}

// If Redis comes back with an older snapshot, it has lost charges. No verb trusts it, whatever the failure mode
// (regression: bug 57; 40 of 40 units passed again, marked exact).
func TestOlderSnapshotIsDoubted(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	file, err := policy.Parse("local.yaml", []byte(localPolicies))
	if err != nil {
		t.Fatal(err)
	}
	w := openWeb(t, daemon.Config{
		Store: "redis://" + s.Addr(), Base: file, Failure: policy.Local, Deadline: time.Second,
		StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
	})
	time.Sleep(1500 * time.Millisecond)
	s.MustDo("save")
	time.Sleep(3 * time.Second) // several beats, which increment the markers
	for _, name := range []string{"hour", "strict"} {
		for range 40 {
			if a := taken(w, name); !a.Allowed || a.Mode != "exact" {
				t.Fatalf("%s: %+v", name, a)
			}
		}
	}
	s.Kill()
	s.Start()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, body := w.status("/v1/peek", `{"policy":"strict","key":"k"}`); strings.Contains(body, `"mode":"fallback"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the loss is not noticed")
		}
	}
	for _, name := range []string{"hour", "strict"} {
		if passed := drain([]*web{w}, name, 40); passed > 1 {
			t.Errorf("%s: %d units passed again", name, passed)
		}
		if code, body := w.status("/v1/reserve", `{"policy":"`+name+`","key":"k"}`); code != http.StatusTooManyRequests || !strings.Contains(body, `"mode":"fallback"`) {
			t.Errorf("%s: reserve: %d %s", name, code, body)
		}
	}
	// An operator can accept the loss.
	accept := exec.CommandContext(t.Context(), programs.Headgate(t), "store", "accept-loss", "--store", "redis://"+s.Addr())
	if out, err := accept.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for end := time.Now().Add(20 * time.Second); taken(w, "hour").Mode != "exact"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the loss is not accepted")
		}
	}
}
