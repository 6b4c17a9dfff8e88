package envoy

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/daemon"
)

// TestSameSeries sends the same random requests to envoyproxy/ratelimit with its Prometheus exporter, and to Headgate
// with --envoy-metrics. It compares names, labels and values of all series of rules, and of the loads of files.
// Regression: bug 176.
func TestSameSeries(t *testing.T) {
	binary(t)
	root, exporter := t.TempDir(), "127.0.0.1:"+freePort(t)
	configurations := install(t, filepath.Join(root, "config"), false)
	upstream := startUpstream(t, root, "USE_PROMETHEUS=true", "PROMETHEUS_ADDR="+exporter)
	ours := startOursOn(t, filepath.Join(root, "config"), nil, func(c *daemon.Config) {
		c.Admin = daemon.AdminConfig{Address: "127.0.0.1:0", EnvoyMetrics: true}
	}, 5*time.Second)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range *steps {
		q := configurations[r.IntN(len(configurations))].drawn(r)
		if q.Domain == "" || q.Domain == "absent" || q.Descriptors == nil {
			continue // counted under other names: see below
		}
		awaitSecond() // both count a request in the same window
		_, wantErr := upstream.client.ShouldRateLimit(context.Background(), q)
		if _, err := ours.client.ShouldRateLimit(context.Background(), q); (err == nil) != (wantErr == nil) {
			t.Fatalf("seed %d, request %v: %v, want %v", seed, q, err, wantErr)
		}
	}
	got := series(t, ours.admin)
	if len(got) < 50 {
		t.Fatalf("seed %d: only %d series: %v", seed, len(got), got)
	}
	var want map[string]string
	for start := time.Now(); !maps.Equal(got, want); time.Sleep(100 * time.Millisecond) { // it exports every ten seconds
		if want = series(t, exporter); time.Since(start) > patience {
			t.Fatalf("seed %d, ours (-) and theirs (+):\n%s", seed, difference(got, want))
		}
	}
}

// series returns the values of the series that both servers have, by name and labels. domain_not_found is not one of
// them: Headgate counts the requests of all unknown domains together, while envoyproxy/ratelimit has a name for each.
func series(t *testing.T, address string) map[string]string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "ratelimit_service_rate_limit_") && !strings.HasPrefix(line, "ratelimit_service_config_") || strings.Contains(line, "domain_not_found") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if all[line[:at]] = line[at:]; line[at:] == " 0" {
			delete(all, line[:at])
		}
	}
	return all
}

func difference(ours, theirs map[string]string) string {
	var text strings.Builder
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if ours[name] != theirs[name] {
			fmt.Fprintf(&text, "- %s%s\n+ %s%s\n", name, ours[name], name, theirs[name])
		}
	}
	return text.String()
}
