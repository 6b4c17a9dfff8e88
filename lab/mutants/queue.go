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

// batchSize is the maximum number of mutants in a batch. All of them are from one package, whose tests are built once
// per batch.
const batchSize = 16

// due fills the queue. If there is no time limit, all mutants are in one batch. If there is one, mutants in changed
// files are the first batch. The others, except for the audit's, follow package by package in an order seeded by the
// tree, so that different trees try different mutants, but the same tree tries the same mutants on every machine.
func (r *runner) due(edits []edit) error {
	var part, parts int
	if _, err := fmt.Sscanf(r.part, "%d/%d", &part, &parts); err != nil || part < 0 || part >= parts {
		return fmt.Errorf("-part is %q; accepted: a number from 0 and how many parts there are, such as 2/4", r.part)
	}
	changed, err := r.script("changed")
	if err != nil {
		return err
	}
	var first, rest []int
	for i := range r.mutants {
		m := &r.mutants[i]
		if i%parts != part || !strings.Contains(m.kind+" "+m.place(), r.only) {
			continue
		}
		if file, err := filepath.Rel(r.root, edits[i].file); r.within == 0 || err == nil && slices.Contains(strings.Fields(changed), file) {
			first = append(first, i)
		} else if m.kind != audited { // the audit's mutants take minutes, and it finds them by chance
			rest = append(rest, i)
		}
	}
	if len(first)+len(rest) == 0 && r.only != "" {
		return fmt.Errorf("-only is %q, which is in no mistake; accepted: a part of a kind, a package or a function in mutants.txt", r.only)
	}
	drawn, err := r.script("drawn")
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(strings.TrimSpace(drawn), 10, 64)
	if err != nil {
		return fmt.Errorf("the number drawn from the tree: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	// Start with the slow mutants, so that none of them is running alone at the end.
	slices.SortStableFunc(first, func(a, b int) int { return r.weight(b) - r.weight(a) })
	if len(first) > 0 {
		r.queue, r.always = [][]int{first}, 1
	}
	r.queue = append(r.queue, r.batches(rest)...)
	return nil
}

// batches divides mutants into batches of one package each, in the order of each package's first mutant.
func (r *runner) batches(all []int) (batches [][]int) {
	open := map[string]int{} // the index of each package's last batch
	for _, i := range all {
		pkg := r.known[r.mutants[i].key()].pkg
		at, ok := open[pkg]
		if !ok || len(batches[at]) == batchSize {
			at = len(batches)
			batches, open[pkg] = append(batches, nil), at
		}
		batches[at] = append(batches[at], i)
	}
	return batches
}

// weight returns a sort key for mutants: roughly the time that they take.
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

// script returns the output of one of the repository's scripts.
func (r *runner) script(name string) (string, error) {
	out, err := exec.Command(filepath.Join(r.root, "tools", "scripts", name)).Output() //nolint:gosec // the program's own
	if err != nil {
		return "", fmt.Errorf("tools/scripts/%s: %w", name, err)
	}
	return string(out), nil
}

// together returns one pattern for the flag -test.run that matches several tests, each given as Test/subtest. The
// pattern may also match other tests.
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
