package pressure_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/pressure"
)

// files writes files to a directory that replaces the root of the file system.
func files(t *testing.T, root string, contents map[string]string) {
	t.Helper()
	for name, text := range contents {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		// The kernel's files are never half written, so the gate must not read an empty one.
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	version2 = map[string]string{
		"proc/self/cgroup":                     "0::/pod/app\n",
		"sys/fs/cgroup/cgroup.controllers":     "cpu memory\n",
		"sys/fs/cgroup/pod/memory.max":         "1000000\n",
		"sys/fs/cgroup/pod/memory.current":     "700000\n",
		"sys/fs/cgroup/pod/memory.stat":        "anon 1\ninactive_file 0\n",
		"sys/fs/cgroup/pod/app/cpu.max":        "200000 100000\n",
		"sys/fs/cgroup/pod/app/cpu.stat":       "usage_usec 5\nnr_periods 100\nnr_throttled 0\n",
		"sys/fs/cgroup/pod/app/memory.max":     "max\n",
		"sys/fs/cgroup/pod/app/memory.current": "500000\n",
	}
	version1 = map[string]string{
		"proc/self/cgroup": "12:cpu,cpuacct:/docker/a\n5:memory:/docker/a\n",
		"sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us":         "50000\n",
		"sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us":        "100000\n",
		"sys/fs/cgroup/cpu/docker/a/cpu.stat":                 "nr_periods 100\nnr_throttled 0\nthrottled_time 0\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":          "800000000\n",
		"sys/fs/cgroup/memory/docker/a/memory.stat":           "cache 5\ntotal_inactive_file 100000\n",
		"sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes": "800000\n",
		"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": "1000000\n",
	}
)

// next returns the next level.
func next(t *testing.T, levels <-chan int) int {
	t.Helper()
	select {
	case level := <-levels:
		return level
	case <-time.After(10 * time.Second):
		t.Fatal("the level does not change")
		return 0
	}
}

// Each change in a control group's files changes the level. The level falls again when the cause is gone.
func TestControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		before    map[string]string
		memory    map[string]string // at least 0.95 of the limit, without the page cache
		throttled map[string]string
	}{
		"version 2": {version2, map[string]string{
			"sys/fs/cgroup/pod/memory.current": "990000\n", "sys/fs/cgroup/pod/memory.stat": "inactive_file 20000\n",
		}, map[string]string{"sys/fs/cgroup/pod/app/cpu.stat": "nr_periods 104\nnr_throttled 4\n"}},
		"version 1": {version1, map[string]string{
			"sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes": "1060000\n",
		}, map[string]string{"sys/fs/cgroup/cpu/docker/a/cpu.stat": "nr_periods 104\nnr_throttled 4\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files(t, root, c.before)
			levels := make(chan int, 100)
			g, err := pressure.New(pressure.Config{Each: 50 * time.Millisecond, Root: root, Changed: func(level int, _ []pressure.Signal) { levels <- level }})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if missing := g.Missing(); len(missing) > 0 {
				t.Errorf("missing: %q", missing)
			}
			if g.Level() != 0 {
				t.Errorf("level %d at the start", g.Level())
			}
			files(t, root, c.memory)
			if level := next(t, levels); level != pressure.Full {
				t.Errorf("level %d with no memory left, want %d: %v", level, pressure.Full, g.Signals())
			}
			files(t, root, c.before)
			for want := pressure.Full - 1; want >= 0; want-- {
				if level := next(t, levels); level != want {
					t.Errorf("level %d, want %d", level, want)
				}
			}
			files(t, root, c.throttled)
			if level := next(t, levels); level != pressure.Full {
				t.Errorf("level %d where every period was throttled: %v", level, g.Signals())
			}
		})
	}
}

// A signal that the system does not provide is missing, and causes no pressure.
func TestMissing(t *testing.T) {
	for name, contents := range map[string]map[string]string{
		"no proc":     {},
		"no limits":   {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpu\n", "sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"},
		"other texts": {"proc/self/cgroup": "x\n0::\n", "sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/cpu.max": "a b\n", "sys/fs/cgroup/memory.max": "-5\n"},
	} {
		root := t.TempDir()
		files(t, root, contents)
		g, err := pressure.New(pressure.Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		g.Close()
		g.Close()
		missing := g.Missing()
		if len(missing) != 2 || !strings.HasPrefix(missing[0], "throttled: ") || !strings.HasPrefix(missing[1], "memory: ") {
			t.Errorf("%s: missing %q", name, missing)
		}
		if slices.ContainsFunc(g.Signals(), func(s pressure.Signal) bool { return s.Value > 0 }) {
			t.Errorf("%s: %v", name, g.Signals())
		}
	}
}

func TestConfig(t *testing.T) {
	for _, each := range []time.Duration{-1, time.Millisecond, time.Hour} {
		var input *engine.InputError
		if _, err := pressure.New(pressure.Config{Each: each}); !errors.As(err, &input) || input.Field != "each" {
			t.Errorf("%s: %v", each, err)
		}
	}
}
