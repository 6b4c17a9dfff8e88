package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// due fills the queue. Without a time limit, it contains all mutants. With a time limit, the mutants in changed files
// come first. The others follow, except those for the audit. Their order is seeded by the tree, so that different
// trees try different mutants, and the same tree tries the same mutants on every machine.
func (r *runner) due(edits []edit) error {
	var part, parts int
	if _, err := fmt.Sscanf(r.part, "%d/%d", &part, &parts); err != nil || part < 0 || part >= parts {
		return fmt.Errorf("-part is %q; accepted: a number from 0 and how many parts there are, such as 2/4", r.part)
	}
	changed := strings.Fields(r.script("changed"))
	var first, rest []int
	for i := range r.mutants {
		m := &r.mutants[i]
		if i%parts != part || !strings.Contains(m.kind+" "+m.place(), r.only) {
			continue
		}
		if file, err := filepath.Rel(r.root, edits[i].file); r.within == 0 || err == nil && slices.Contains(changed, file) {
			first = append(first, i)
		} else if m.kind != audited { // these take minutes, and the audit finds them by chance
			rest = append(rest, i)
		}
	}
	if len(first)+len(rest) == 0 && r.only != "" {
		return fmt.Errorf("-only is %q, which is in no mistake; accepted: a part of a kind, a package or a function in mutants.txt", r.only)
	}
	drawn, _ := strconv.ParseUint(strings.TrimSpace(r.script("drawn")), 10, 64)
	random := rand.New(rand.NewPCG(drawn, 0)) //nolint:gosec // no secret
	random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	// Slow mutants begin first.
	slices.SortStableFunc(first, func(a, b int) int { return r.weight(b) - r.weight(a) })
	r.queue, r.always = append(first, rest...), len(first)
	return nil
}

// weight orders mutants roughly by how long they take.
func (r *runner) weight(i int) int {
	m := &r.mutants[i]
	weight := len(suitesOf(r.root, m))
	if m.kind == audited {
		weight += 10
	}
	if _, ok := r.known[m.key()]; !ok {
		weight += 100
	}
	return weight
}

// script returns the output of one of the repository's scripts, or "" if the script fails.
func (r *runner) script(name string) string {
	out, err := exec.Command(filepath.Join(r.root, "scripts", name)).Output() //nolint:gosec // the program's own
	if err != nil {
		return ""
	}
	return string(out)
}

// together returns one pattern for several tests. Each is given by its name and the names of its subtests. The pattern
// may match more tests than these.
func together(names []string) string {
	var levels [][]string
	for _, name := range names {
		if name == everything {
			return "."
		}
		for i, level := range strings.Split(name, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			if quoted := regexp.QuoteMeta(level); !slices.Contains(levels[i], quoted) {
				levels[i] = append(levels[i], quoted)
			}
		}
	}
	patterns := make([]string, len(levels))
	for i, names := range levels {
		patterns[i] = "^(" + strings.Join(names, "|") + ")$"
	}
	return strings.Join(patterns, "/")
}
