package servers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

const changing = `
policies:
  daily: {algorithm: fixed-window, limit: 1000, window: 1d}
  slow:  {algorithm: token-bucket, rate: 1000/1d, burst: 1000}
  hot:   {algorithm: fixed-window, limit: 1000, window: 1d, mode: leased}
`

func configOf(t *testing.T, text string) *policy.Config {
	t.Helper()
	config, err := policy.Parse("changing.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func takeOf(name string, cost int) string {
	return fmt.Sprintf(`{"policy":%q,"key":"k","cost":%d}`, name, cost)
}

func set(t *testing.T, w *web, name, fields string) {
	t.Helper()
	w.admin(http.MethodPost, "/admin/v1/changes", fmt.Sprintf(`{"policy":%q,"fields":%s,"author":"ann","reason":"test"}`, name, fields))
}

// A change made on one server takes effect on the other within a second, and on both after a restart. After a limit is
// halved, no key's units are refilled. After it is doubled, denied callers pass immediately.
func TestChangeOnTwoServers(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	c := daemon.Config{Store: "redis://" + s.Addr(), Base: configOf(t, changing), Deadline: 10 * time.Second}
	c.StoreOptions = open.Options{Prefetch: prefetch.Config{Life: time.Second, MaxUnits: 100}}
	for _, name := range []string{"daily", "slow"} {
		t.Run(name, func(t *testing.T) {
			half, double := `{"limit":500}`, `{"limit":2000}`
			if name == "slow" {
				half, double = `{"rate":"500/1d","burst":500}`, `{"rate":"2000/1d","burst":2000}`
			}
			a, b := openWeb(t, c), openWeb(t, c)
			a.want(http.StatusOK, takeOf(name, 600))
			set(t, a, name, half)
			a.want(http.StatusTooManyRequests, takeOf(name, 1))
			time.Sleep(time.Second)
			b.want(http.StatusTooManyRequests, takeOf(name, 1))
			set(t, b, name, double)
			b.want(http.StatusOK, takeOf(name, 1))
			time.Sleep(time.Second)
			a.want(http.StatusOK, takeOf(name, 1398))
			a.want(http.StatusTooManyRequests, takeOf(name, 10))
			a.stop()
			b.stop()
			a, b = openWeb(t, c), openWeb(t, c)
			for _, w := range []*web{a, b} {
				if _, body := w.status("/v1/peek", takeOf(name, 1)); !strings.Contains(body, `"limit":2000`) {
					t.Errorf("after a restart: %s", body)
				}
			}
			a.admin(http.MethodPost, "/admin/v1/changes/clear", fmt.Sprintf(`{"policy":%q,"author":"ann"}`, name))
			time.Sleep(time.Second)
			b.want(http.StatusTooManyRequests, takeOf(name, 1))
		})
	}
}

// While callers keep two servers busy, a leased limit is changed at random. All versions share the spent units, so no
// more requests pass than the largest version allows.
func TestChangesUnderLoad(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	c := daemon.Config{Store: "redis://" + s.Addr(), Base: configOf(t, changing), Deadline: 10 * time.Second}
	c.StoreOptions.Prefetch = prefetch.Config{Life: time.Second, MaxUnits: 100, HotAfter: 1}
	servers := []*web{openWeb(t, c), openWeb(t, c)}
	time.Sleep(4 * time.Second) // by then both servers prefetch units
	var allowed, failed atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer stop()
	for i := range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				switch status, _ := servers[i%2].status("/v1/allow", takeOf("hot", 1)); status {
				case http.StatusOK:
					allowed.Add(1)
				case http.StatusTooManyRequests:
					time.Sleep(time.Millisecond)
				default:
					failed.Add(1)
				}
			}
		})
	}
	const most = 3000
	for i, limit := range []int{500, most, 1500, 2000, 700, 600, 2999} {
		time.Sleep(700 * time.Millisecond)
		set(t, servers[i%2], "hot", fmt.Sprintf(`{"limit":%d,"mode":%q}`, limit, []string{"leased", "exact"}[i%3%2]))
	}
	testbed.Until(t, "1000 requests pass", func() bool { return allowed.Load() >= 1000 || failed.Load() > 0 })
	stop()
	callers.Wait()
	if n := allowed.Load(); n > most || failed.Load() > 0 {
		t.Errorf("%d passed, %d failed; want at most %d, and none", n, failed.Load(), most)
	}
}
