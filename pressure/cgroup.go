package pressure

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// groups describes the control groups of the process, from its own group up to the topmost visible one.
type groups struct {
	root        string   // the root of the file system; "/" except in tests
	own         string   // path of the process's group in version 2
	cpu, memory string   // paths of its groups in version 1
	version     int      // 0 means no control groups
	missing     []string // files that do not exist
}

// findGroups reads /proc/self/cgroup.
func findGroups(root string) groups {
	g := groups{root: root}
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		g.missing = append(g.missing, "/proc/self/cgroup")
		return g
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			switch controller {
			case "cpu":
				g.cpu = parts[2]
			case "memory":
				g.memory = parts[2]
			case "":
				g.own = parts[2]
			}
		}
	}
	switch {
	case g.exists("sys/fs/cgroup/cgroup.controllers"):
		g.version = 2
	case g.exists("sys/fs/cgroup/cpu"), g.exists("sys/fs/cgroup/memory"):
		g.version = 1
	}
	return g
}

func (g *groups) exists(name string) bool {
	_, err := os.Stat(filepath.Join(g.root, name))
	return err == nil
}

// read adds the control groups' numbers to a reading, and returns the CPU quota as a number of processors. It returns 0
// if there is no quota.
func (g *groups) read(r *reading) (quota float64) {
	r.periods, r.memory, r.limit = -1, -1, -1
	switch g.version {
	case 2:
		quota = g.eachUp("sys/fs/cgroup", g.own, r, func(dir string, r *reading) float64 {
			g.memoryOf(r, dir, "memory.max", "memory.current", "inactive_file")
			return g.quotaOf(dir, r, "cpu.max", "")
		})
	case 1:
		quota = g.eachUp("sys/fs/cgroup/cpu", g.cpu, r, func(dir string, r *reading) float64 {
			return g.quotaOf(dir, r, "cpu.cfs_quota_us", "cpu.cfs_period_us")
		})
		g.eachUp("sys/fs/cgroup/memory", g.memory, r, func(dir string, r *reading) float64 {
			g.memoryOf(r, dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
			return 0
		})
	}
	return quota
}

// eachUp reads a group and its ancestors, and returns the smallest quota. In a container the process's own group is
// often mounted as the root, even if /proc has another path.
func (g *groups) eachUp(mount, own string, r *reading, read func(dir string, r *reading) float64) (quota float64) {
	for at := path.Clean("/" + own); ; at = path.Dir(at) {
		if dir := path.Join(mount, at); g.exists(dir) {
			if q := read(dir, r); q > 0 && (quota == 0 || q < quota) {
				quota = q
			}
		}
		if at == "/" {
			return quota
		}
	}
}

// quotaOf returns the number of processors that a group may use. It returns 0 if there is no quota. It also adds the
// periods in which the group was throttled.
func (g *groups) quotaOf(dir string, r *reading, quotaFile, periodFile string) float64 {
	words := strings.Fields(g.text(dir, quotaFile))
	if periodFile != "" {
		words = append(words, strings.Fields(g.text(dir, periodFile))...)
	}
	if len(words) != 2 {
		return 0
	}
	quota, period := number(words[0]), number(words[1])
	if quota <= 0 || period <= 0 {
		return 0
	}
	periods, throttled := field(g.text(dir, "cpu.stat"), "nr_periods"), field(g.text(dir, "cpu.stat"), "nr_throttled")
	if periods >= 0 && throttled >= 0 && (r.periods < 0 || throttled > r.throttled) {
		r.periods, r.throttled = periods, throttled // the most throttled group
	}
	return float64(quota) / float64(period)
}

// unlimited is more than any real memory limit. Version 1 uses about 2^63 for no limit.
const unlimited = 1 << 60

// memoryOf reads a group's memory use. The reading keeps the memory use of the group that is closest to its limit.
func (g *groups) memoryOf(r *reading, dir, limitFile, usedFile, inactive string) {
	limit, used := number(g.text(dir, limitFile)), number(g.text(dir, usedFile))
	if limit <= 0 || limit >= unlimited || used < 0 {
		return
	}
	used -= max(0, field(g.text(dir, "memory.stat"), inactive))
	r.nearer(max(0, used), limit)
}

// nearer replaces the reading's memory use and limit with the given ones if these are closer to each other.
func (r *reading) nearer(used, limit int64) {
	if r.limit <= 0 || float64(used)/float64(limit) > float64(r.memory)/float64(r.limit) {
		r.memory, r.limit = used, limit
	}
}

// text returns the content of a small file. It returns "" if the file cannot be read.
func (g *groups) text(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(g.root, dir, name))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

// number parses a whole number. It returns -1 for any other text, such as max.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// field returns the number for a name in a file with one name and number per line. It returns -1 if the name is
// missing.
func field(text, name string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return number(strings.TrimSpace(rest))
		}
	}
	return -1
}
