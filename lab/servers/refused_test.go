package servers

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// A server that starts with a full Redis answers with errors and is not ready, until Redis has room. If Redis is full
// again, that is an outage: shares decide, and the log, the metrics and the explanation of a key name its
// class.
func TestServerWithFullRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	fill := func(bytes string) { s.MustDo("config", "set", "maxmemory", bytes) }
	fill("1")
	base, err := policy.Parse("p.yaml", []byte(`policies: {own: {algorithm: token-bucket, rate: 1000/s}}`))
	if err != nil {
		t.Fatal(err)
	}
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), Base: base, GRPC: daemon.GRPC{Address: "127.0.0.1:0"}, Deadline: time.Second, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 1}}})
	const take, full = `{"policy":"own","key":"k"}`, "out_of_memory"
	w.want(http.StatusServiceUnavailable, take)
	if code, body := w.status("/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, `"detail":"not ready: the store could not decide: `+full) {
		t.Errorf("started with a full Redis: %d %s", code, body)
	}
	serving := func() healthpb.HealthCheckResponse_ServingStatus { return health(t, w.daemon.GRPCAddr().String()) }
	if got := serving(); got != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("gRPC health is %s, want NOT_SERVING", got)
	}
	fill("0")
	w.until(http.StatusOK, "/readyz", "") // without a request
	testbed.Until(t, "gRPC health is SERVING", func() bool { return serving() == healthpb.HealthCheckResponse_SERVING })
	testbed.Until(t, "Redis decides", func() bool { return taken(w, "own").Mode == "exact" })

	fill("1")
	testbed.Until(t, "the share decides", func() bool { return taken(w, "own").Mode == "fallback" })
	series := `headgate_store_away{class="` + full + `"}`
	testbed.Until(t, "the metrics name the class", func() bool { taken(w, "own"); return w.scrape()[series] == 1 })
	if text := w.admin(http.MethodPost, "/admin/v1/keys/explain", `{"policy":"own","key":"k"}`); !strings.Contains(text, `"store_away":"`+full+`"`) {
		t.Errorf("explained with a full Redis: %s", text)
	}
	if lines := w.log.lines("store away"); len(lines) == 0 || !strings.Contains(lines[len(lines)-1], "class="+full) {
		t.Errorf("the log: %q", lines)
	}
	if code, body := w.status("/readyz", ""); code != http.StatusOK {
		t.Errorf("in an outage: %d %s, want 200", code, body)
	}
	fill("0")
	testbed.Until(t, "the outage is over", func() bool { return taken(w, "own").Mode == "exact" && w.scrape()["headgate_store_up"] == 1 })
	if _, found := w.scrape()[series]; found {
		t.Error("the metrics still name a class")
	}
}

// A server whose Redis answers, but lacks what every decision needs, is not ready until it is mended, so that a rolling
// update stops (regression: bug 275).
func TestServerWithoutPermissionIsNotReady(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	for _, missing := range []string{"time", "evalsha"} {
		t.Run(missing, func(t *testing.T) {
			s.MustDo("acl", "setuser", missing, "on", ">pw", "~*", "+@all", "-"+missing)
			w := openWeb(t, daemon.Config{Store: "redis://" + missing + ":pw@" + s.Addr() + "?prefix=" + missing, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 1}}})
			w.until(http.StatusServiceUnavailable, "/readyz", "")
			if _, body := w.status("/readyz", ""); !strings.Contains(body, "no_permission") {
				t.Errorf("the reason is %s", body)
			}
			w.want(http.StatusServiceUnavailable, `{"key":"k","limit":"1000000/s"}`)
			s.MustDo("acl", "setuser", missing, "+"+missing)
			w.until(http.StatusOK, "/readyz", "") // without a request
			w.until(http.StatusOK, "/v1/allow", `{"key":"k","limit":"1000000/s"}`)
		})
	}
}

// A server without requests shows an outage of its Redis, and its end.
func TestIdleServerShowsAnOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 1}}})
	up := func() float64 { return w.scrape()["headgate_store_up"] }
	if up() != 1 {
		t.Error("the store is not up")
	}
	s.Kill()
	testbed.Until(t, "the metrics show the outage", func() bool { return up() == 0 })
	s.Start()
	testbed.Until(t, "the metrics show its end", func() bool { return up() == 1 })
	if away, back := w.log.lines("store away"), w.log.lines("store back"); len(away) != 1 || len(back) != 1 || !strings.Contains(away[0], "class=unsent") {
		t.Errorf("the log: %q %q", away, back)
	}
}

// A server that starts while its Redis is away is ready. If Redis then refuses its password, the server is not ready
// until the password in its file is right.
func TestServerWithWrongPasswordIsNotReady(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis, "requirepass right")
	s.Kill()
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong")
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), StoreOptions: open.Options{PasswordFile: file, Fallback: &fallback.Config{Expect: 1}}})
	w.until(http.StatusOK, "/readyz", "")
	s.Start()
	w.until(http.StatusServiceUnavailable, "/readyz", "")
	if _, body := w.status("/readyz", ""); !strings.Contains(body, "no_auth") {
		t.Errorf("the reason is %s", body)
	}
	w.want(http.StatusServiceUnavailable, `{"key":"k","limit":"1000000/s"}`)
	write("right")
	w.until(http.StatusOK, "/readyz", "")
	w.until(http.StatusOK, "/v1/allow", `{"key":"k","limit":"1000000/s"}`)
}
