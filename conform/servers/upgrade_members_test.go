package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/programs"
	"github.com/headgate/headgate/conform/redistest"
)

// While servers from two builds share one Redis, each counts the other among those that would share the limits in an
// outage. When prefetching, no server may divide units among too few servers: it counts all of them, or prefetches
// nothing. After the upgrade or the rollback, the remaining server prefetches again.
func TestMembersOfTwoBuilds(t *testing.T) {
	t.Parallel()
	earlier, build := buildsOf(t)
	for name, remains := range map[string]string{"up": build, "down": earlier} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Standalone(t, redistest.Redis)
			old, current := startMember(t, earlier, s.Addr()), startMember(t, build, s.Addr())
			for _, m := range []*memberServer{old, current} {
				m.until("counts two servers for outages", 10*time.Second, func(shares, _ float64) bool { return shares == 2 })
			}
			current.until("prefetches for two servers", 15*time.Second, func(_, leases float64) bool { return leases == 2 })
			for range 20 {
				if _, leases := old.counts(); leases == 1 {
					t.Errorf("the earlier build prefetches as if it were alone")
				}
				time.Sleep(250 * time.Millisecond)
			}
			stays, goes := current, old
			if remains != build {
				stays, goes = old, current
			}
			goes.stop()
			stays.until("prefetches for itself", 20*time.Second, func(_, leases float64) bool { return leases == 1 })
			stays.stop()
		})
	}
}

// memberServer is a running server with a policy that prefetches units.
type memberServer struct {
	t    *testing.T
	port int
	stop func()
}

func startMember(t *testing.T, headgate, redisAddress string) *memberServer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(path, []byte("policies: {hot: {algorithm: token-bucket, rate: 1000/s, mode: leased}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := programs.FreePort(t)
	_, stop := serveBuild(t, headgate, "redis://"+redisAddress, "--config", path, "--admin", fmt.Sprintf("127.0.0.1:%d", port))
	return &memberServer{t: t, port: port, stop: stop}
}

// counts returns the number of servers that would share the limits in an outage, and the number of servers that the
// prefetch layer counts.
func (m *memberServer) counts() (shares, leases float64) {
	m.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", m.port), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		m.t.Fatalf("%v %d %s", err, response.StatusCode, text)
	}
	all := series(m.t, string(text))
	return all["headgate_fallback_processes"], all["headgate_prefetch_members"]
}

// until waits until the counts are as wanted.
func (m *memberServer) until(what string, most time.Duration, wanted func(shares, leases float64) bool) {
	m.t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(100 * time.Millisecond) {
		shares, leases := m.counts()
		if wanted(shares, leases) {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s: not after %s: shares of %v servers, leases of %v", what, most, shares, leases)
		}
	}
}
