package pressure

import (
	"os"
	"path/filepath"
	"testing"
)

// From the process's own group and its ancestors, the gate uses the smallest quota, the most throttled group, and the
// memory use closest to its limit, without the page cache.
func TestGroups(t *testing.T) {
	type numbers struct {
		periods, throttled, memory, limit int64
		quota                             float64
	}
	const own, above = "sys/fs/cgroup/pod/app/", "sys/fs/cgroup/pod/"
	v2 := map[string]string{"proc/self/cgroup": "0::/pod/app", "sys/fs/cgroup/cgroup.controllers": "cpu"}
	v1 := map[string]string{"proc/self/cgroup": "4:cpu:/a\n5:memory:/a", "sys/fs/cgroup/cpu/tasks": "", "sys/fs/cgroup/memory/tasks": ""}
	for name, c := range map[string]struct {
		base, files map[string]string
		want        numbers
	}{
		"nothing": {nil, nil, numbers{-1, 0, -1, -1, 0}},
		"version 2, own": {v2, map[string]string{
			own + "cpu.max": "150000 100000", own + "cpu.stat": "nr_periods 7\nnr_throttled 3", own + "memory.max": "1000",
			own + "memory.current": "900", own + "memory.stat": "anon 1\ninactive_file 300",
		}, numbers{7, 3, 600, 1000, 1.5}},
		"version 2, above": {v2, map[string]string{
			own + "memory.max": "1000", own + "memory.current": "500", above + "memory.max": "2000", above + "memory.current": "1900",
			above + "cpu.max": "50000 100000", above + "cpu.stat": "nr_periods 9\nnr_throttled 9", own + "cpu.max": "100000 100000",
			own + "cpu.stat": "nr_periods 9\nnr_throttled 1",
		}, numbers{9, 9, 1900, 2000, 0.5}},
		"version 2, own nearer": {v2, map[string]string{
			own + "memory.max": "1000", own + "memory.current": "980", above + "memory.max": "2000", above + "memory.current": "1900",
		}, numbers{-1, 0, 980, 1000, 0}},
		"version 1 without limits": {v1, map[string]string{
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "5",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
		}, numbers{-1, 0, -1, -1, 0}},
		"version 1": {v1, map[string]string{
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "800", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "500",
			"sys/fs/cgroup/memory/a/memory.stat": "cache 9\ntotal_inactive_file 100", "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "20000",
			"sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "10000", "sys/fs/cgroup/cpu/a/cpu.stat": "nr_periods 2\nnr_throttled 1",
		}, numbers{2, 1, 400, 800, 2}},
	} {
		root := t.TempDir()
		for _, all := range []map[string]string{c.base, c.files} {
			for file, text := range all {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		g, r := findGroups(root), reading{}
		quota := g.read(&r)
		if got := (numbers{r.periods, r.throttled, r.memory, r.limit, quota}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
