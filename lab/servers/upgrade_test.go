package servers

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
)

var previous = flag.String("previous", "", "a headgate command of an earlier build, for tests of two builds; by default the build under test")

// upgraded contains policies for two versions of a configuration. %d is the limit. No units refill while the test runs.
var upgraded = map[string]string{
	"bucket":  "{algorithm: token-bucket, rate: 1/1h, burst: %d}",
	"pacer":   "{algorithm: pacer, rate: 1/1h, burst: %d, max_queue: 0}",
	"warm-up": "{algorithm: warm-up, rate: 1/1h, warm_up: 2h, burst: %d}",
	"fixed":   "{algorithm: fixed-window, limit: %d, window: 1d}",
	"day":     "{algorithm: fixed-window, limit: %d, window: 1d, align: UTC}",
	"window":  "{algorithm: sliding-window, limit: %d, window: 1d, segments: 24}",
	"log":     "{algorithm: sliding-log, limit: %d, window: 1d}",
	"permits": "{algorithm: concurrency, limit: %d, lease: 1d}",
}

// buildsOf returns the paths of the headgate commands of an earlier build and of the working tree.
func buildsOf(t *testing.T) (earlier, build string) {
	t.Helper()
	build = programs.Headgate(t)
	if *previous == "" {
		return build, build
	}
	earlier, err := filepath.Abs(*previous)
	if err != nil {
		t.Fatal(err)
	}
	return earlier, build
}

// A rolling upgrade and its rollback under load: servers with an earlier build and configuration are replaced one by
// one. While both run, and afterwards, no more requests pass than the larger limit allows. Requests fail only on
// connections that a stopping server closes. At the end, the new configuration's limit is active.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	earlier, build := buildsOf(t)
	t.Run("up", func(t *testing.T) { roll(t, earlier, build) })
	if earlier != build {
		t.Run("down", func(t *testing.T) { roll(t, build, earlier) })
	}
}

// roll replaces the servers of one build with servers of another.
func roll(t *testing.T, from, to string) {
	t.Helper()
	const before, after = 400, 300
	s := redistest.Standalone(t, redistest.Redis)
	start := func(headgate string, limit int) (*redis.Client, func()) {
		return serveBuild(t, headgate, "redis://"+s.Addr(), "--deadline", "10s", "--config", upgradeFile(t, limit))
	}
	old1, stop1 := start(from, before)
	old2, stop2 := start(from, before)
	passed := load(t, old1, 150)
	new1, stopNew1 := start(to, after) // three servers run at the same time
	passed.add(load(t, new1, 100))
	stop1()
	both := make(chan counts)
	go func() { both <- load(t, old2, 60) }()
	passed.add(load(t, new1, 60))
	passed.add(<-both)
	stop2()
	new2, stopNew2 := start(to, after)
	passed.add(load(t, new2, 100))
	stopNew1()
	stopNew2()
	for _, name := range slices.Sorted(maps.Keys(upgraded)) {
		if n := passed[name]; n < after || n > before {
			t.Errorf("%s: %d passed; want %d, which the new configuration allows, to %d, which the old does", name, n, after, before)
		}
	}
}

func upgradeFile(t *testing.T, limit int) string {
	t.Helper()
	text := "policies:\n"
	for name, fields := range upgraded {
		text += "  " + name + ": " + fmt.Sprintf(fields, limit) + "\n"
	}
	path := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// counts holds the number of requests that passed under each policy.
type counts map[string]int64

func (c counts) add(other counts) {
	for name, n := range other {
		c[name] += n
	}
}

// load sends requests for every policy to a server from several callers, and counts the requests that pass.
func load(t *testing.T, server *redis.Client, requests int) counts {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	passed := counts{}
	for _, name := range slices.Sorted(maps.Keys(upgraded)) {
		var n atomic.Int64
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				for range requests / 5 {
					command := []any{"HEADGATE.ALLOW", name, "k"}
					if name == "permits" {
						command[0] = "HEADGATE.ACQUIRE"
					}
					reply, err := server.Do(ctx, command...).Slice()
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					if reply[0] == int64(0) {
						n.Add(1)
					}
				}
			})
		}
		callers.Wait()
		passed[name] = n.Load()
	}
	return passed
}
