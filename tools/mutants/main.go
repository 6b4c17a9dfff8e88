// Command mutants plants one mistake at a time in the code that decides, and
// runs the tests: some test must fail for each. A mistake that no test catches
// survives, and fails the run.
//
// The mistakes are in mutants.txt, each by its function and what stands there, so
// that neither layout nor a file's name matters. Nothing is written to the tree: the
// compiler is given the changed file in the place of the original.
package main

import (
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

func main() {
	only := flag.String("only", "", "run the mutants whose place contains this text")
	part := flag.Int("part", 1, "run one of so many parts, which of them the tree says: over some commits each has its turn")
	root := flag.String("root", "..", "the repository's root")
	flag.Parse()
	mutants, err := read(filepath.Join(*root, "tools", "mutants", "mutants.txt"))
	if err == nil {
		err = run(*root, mutants, turn(*root, max(1, *part)), *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
		os.Exit(1)
	}
}

// turn reports of each place in the list whether it has its turn at the tree that is
// checked out. The tree says it and not the commit, so that the same files have the
// same turn wherever they are built, under whatever message.
func turn(root string, parts int) func(i int) bool {
	tree := exec.Command("git", "rev-parse", "HEAD^{tree}")
	tree.Dir = root
	name, err := tree.Output()
	if err != nil {
		parts = 1 // there is nothing to go by
	}
	now := int(crc32.ChecksumIEEE(name)) % parts
	return func(i int) bool { return i%parts == now }
}

func run(root string, mutants []mutant, due func(i int) bool, only string) error {
	edits, err := plan(root, mutants)
	if err != nil {
		return err
	}
	suites := suitesOf(root, mutants)
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	turns := func(i int) bool { return due(i) && strings.Contains(mutants[i].kind+" "+mutants[i].place(), only) }
	if err := healthy(root, wanted(suites, mutants, turns)); err != nil {
		return err
	}
	overlays := make([]string, len(mutants))
	for i, e := range edits {
		if overlays[i], err = e.plant(filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	outcomes := make([]string, len(mutants))
	for i, m := range mutants {
		if !turns(i) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = try(root, overlays[i], suites[m.kind])
			fmt.Printf("%-9s %s: %s\n", outcomes[i], m.place(), m.breaks)
		})
	}
	wg.Wait()
	return summary(outcomes)
}

// wanted returns the suites of the mutants that have their turn.
func wanted(suites map[string][]suite, mutants []mutant, turns func(i int) bool) map[string][]suite {
	some := map[string][]suite{}
	for i, m := range mutants {
		if turns(i) {
			some[m.kind] = suites[m.kind]
		}
	}
	return some
}

// summary counts what became of the mutants that had their turn.
func summary(outcomes []string) error {
	caught, failed := 0, 0
	for _, outcome := range outcomes {
		switch outcome {
		case "":
		case "caught":
			caught++
		default:
			failed++
		}
	}
	fmt.Printf("mutants: %d caught, %d not\n", caught, failed)
	if failed > 0 {
		return fmt.Errorf("%d mutants survived", failed)
	}
	return nil
}
