package servers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/daemon"
)

// When one master of a Cluster hangs, shares decide its keys. Decisions on the other masters' keys remain exact
// (regression: bug 61).
func TestOneMasterHangs(t *testing.T) {
	t.Parallel()
	nodes := redistest.Cluster(t, redistest.Redis, "cluster-require-full-coverage no", "cluster-replica-no-failover yes")
	file, err := policy.Parse("local.yaml", []byte("policies: {p: {algorithm: token-bucket, rate: 1000000/s, burst: 1000000}}"))
	if err != nil {
		t.Fatal(err)
	}
	w := openWeb(t, daemon.Config{
		Store: "redis+cluster://" + strings.Join(nodes.Addrs(), ","), Base: file, Failure: policy.Local, Deadline: 500 * time.Millisecond,
		StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}},
	})
	mode := func(key string) string {
		t.Helper()
		status, body := w.status("/v1/allow", `{"policy":"p","key":"`+key+`"}`)
		for _, mode := range []string{"exact", "fallback"} {
			if status == http.StatusOK && strings.Contains(body, `"mode":"`+mode+`"`) {
				return mode
			}
		}
		return fmt.Sprint(status, " ", body)
	}
	hung := nodes.Primaries()[0]
	var here, elsewhere []string
	for n := 0; len(here) < 4 || len(elsewhere) < 4; n++ {
		key := fmt.Sprint("k", n)
		if _, home := nodes.Of("{" + key + "}"); home == hung {
			here = append(here, key)
		} else {
			elsewhere = append(elsewhere, key)
		}
	}
	if redisstore.Slot("{"+here[0]+"}") == redisstore.Slot("{"+elsewhere[0]+"}") {
		t.Fatal("two masters have one slot")
	}
	for _, key := range append(here, elsewhere...) {
		if got := mode(key); got != "exact" {
			t.Fatalf("before: %s", got)
		}
	}
	hung.Pause()
	for range 20 {
		mode(here[0]) // by then the breaker of the master's lane is open
	}
	for i := range 40 {
		if got := mode(here[0]); got != "fallback" {
			t.Errorf("a key of the master that hangs: %s", got)
		}
		if got := mode(elsewhere[i%len(elsewhere)]); got != "exact" {
			t.Errorf("a key of another master: %s", got)
		}
	}
	hung.Resume()
	for end := time.Now().Add(30 * time.Second); mode(here[0]) != "exact"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the master is back, and its keys are not exact")
		}
	}
}
