package envoy

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// TestReload checks that a changed file becomes active and keeps the counts, that the previous configuration stays
// active if the file has an error, and that unchanged files are not loaded again.
func TestReload(t *testing.T) {
	f := serving(t, Options{}, "domain: d")
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "d.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	write("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 3}}]")
	directory, err := Open(f.Service, dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reload := func(changed bool, failures uint64) {
		t.Helper()
		got, err := directory.Reload()
		if n := f.Stats().ConfigLoadError; got != changed || (err != nil) != (failures > 0) || n != failures {
			t.Fatalf("changed %v, %v, %d errors; want %v and %d errors", got, err, n, changed, failures)
		}
	}
	reload(false, 0)
	f.want("OK: OK 1/3 86400s", "a=1 x2")
	write("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 30}}]")
	reload(true, 0)
	f.want("OK: OK 27/30 86400s", "a=1")
	write("domain: d\ndescriptors: [{key: }]")
	reload(true, 1)
	reload(false, 1)
	f.want("OK: OK 26/30 86400s", "a=1")
}

// TestOpen checks that Open fails if a file in the directory is invalid, unless force is set. With force, Open
// succeeds but the service is not ready. An absent directory is an error even with force.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte("descriptors:"), 0o600); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	if _, err := Open(New(Options{}, nil), dir, false, quiet); err == nil || err.Error() != "d.yaml:1:1: config file cannot have empty domain" {
		t.Errorf("%v", err)
	}
	if _, err := Open(New(Options{}, nil), filepath.Join(dir, "absent"), true, quiet); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("%v", err)
	}
	s := New(Options{}, nil)
	if _, err := Open(s, dir, true, quiet); err != nil {
		t.Fatal(err)
	}
	if s.Ready() == nil {
		t.Error("ready without a configuration")
	}
}

// TestLoadWhileAsking checks that each request uses either the old or the new configuration, and that the statistics
// miss no hits.
func TestLoadWhileAsking(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	s := New(Options{}, filelimit.New(policy.Empty(), limiter).Do)
	files := func(limit int) []File {
		return []File{{Name: "f", Data: fmt.Appendf(nil, "domain: d\ndescriptors: [{key: a, detailed_metric: true, rate_limit: {unit: year, requests_per_unit: %d}}]", limit)}}
	}
	if _, err := s.Load(files(1_000_000)); err != nil {
		t.Fatal(err)
	}
	request := &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "a=1")}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2000 {
				r, err := s.ShouldRateLimit(context.Background(), request)
				if limit := r.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit(); err != nil || limit != 1_000_000 && limit != 2_000_000 {
					t.Errorf("%v, %v", r, err)
					return
				}
			}
		})
	}
	for i := range 100 {
		if _, err := s.Load(files(1_000_000 * (1 + i%2))); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	total := uint64(0)
	for _, r := range s.Stats().Rules {
		total += r.TotalHits
	}
	if total != 8000 {
		t.Errorf("%d hits in the statistics, want 8000", total)
	}
}
