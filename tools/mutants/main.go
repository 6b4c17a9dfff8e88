// Command mutants plants one mistake at a time in the code that decides, and
// runs the tests: some test must fail for each. A mistake that no test catches
// survives, and fails the run.
//
// The mistakes are in mutants.txt. Nothing is written to the tree: the compiler
// is given the changed file in the place of the original.
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// limit is how long one suite may take with its compilation. The tests
// themselves have 30 s: a mutant that hangs them is caught.
const limit = 3 * time.Minute

// suites are tried in order until one fails; the quick ones come first.
var suites = []suite{
	{".", "./algo", "."},
	{".", "./memstore", "."},
	{"conform", ".", "TestMemstore|TestDifferential|TestLeasesDifferential|TestBounds|TestTogether"},
}

// luaSuites are for what Redis decides.
var luaSuites = []suite{
	{".", "./redisstore", "."},
	{"conform", ".", "TestRedis$/^redis$/^rueidis$/(storetest|vectors|differential|batches)"},
	{"conform", ".", "TestErrors$/^out_of_memory$|TestShardsAgree"},
}

// layerSuites are for what stands in front of a store.
var layerSuites = []suite{{".", "./batch ./near ./lease ./internal/keyed", "."}}

// suite is tests of a module.
type suite struct{ dir, packages, tests string }

// suites returns the tests that should catch the mutant.
func (m mutant) suites() []suite {
	switch {
	case strings.HasPrefix(m.file, "redisstore/"):
		return luaSuites
	case strings.HasPrefix(m.file, "batch/"), strings.HasPrefix(m.file, "near/"), strings.HasPrefix(m.file, "lease/"), strings.HasPrefix(m.file, "internal/"):
		return layerSuites
	default:
		return suites
	}
}

func main() {
	only := flag.String("only", "", "run the mutants whose place contains this text")
	part := flag.Int("part", 1, "run one of so many parts, which of them the commit says: over some commits each has its turn")
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

// turn reports of each place in the list whether it has its turn at the commit
// that is checked out.
func turn(root string, parts int) func(i int) bool {
	commit := exec.Command("git", "rev-parse", "HEAD")
	commit.Dir = root
	name, err := commit.Output()
	if err != nil {
		parts = 1 // there is nothing to go by
	}
	now := int(crc32.ChecksumIEEE(name)) % parts
	return func(i int) bool { return i%parts == now }
}

func run(root string, mutants []mutant, due func(i int) bool, only string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := healthy(root); err != nil {
		return err
	}
	overlays := make([]string, len(mutants))
	for i, m := range mutants {
		if overlays[i], err = m.plant(root, filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	outcomes := make([]string, len(mutants))
	for i, m := range mutants {
		if !due(i) || !strings.Contains(m.place(), only) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = try(root, overlays[i], m)
			fmt.Printf("%-9s %s: %s\n", outcomes[i], m.place(), m.breaks)
		})
	}
	wg.Wait()
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

// healthy makes sure that the tests pass without a mistake: otherwise all would
// seem caught.
func healthy(root string) error {
	for _, s := range slices.Concat(suites, luaSuites, layerSuites) {
		if out, err := test(filepath.Join(root, s.dir), s.packages, s.tests, ""); err != nil {
			return fmt.Errorf("tests of %s fail without a mutant:\n%s", s.dir, out)
		}
	}
	return nil
}

// try runs the tests with a mutant, and returns what became of it.
func try(root, overlay string, m mutant) string {
	for _, s := range m.suites() {
		out, err := test(filepath.Join(root, s.dir), s.packages, s.tests, overlay)
		if err == nil {
			continue
		}
		if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") ||
			strings.Contains(out, "Error compiling script") {
			fmt.Println(out)
			return "NO BUILD"
		}
		return "caught"
	}
	return "SURVIVED"
}

func test(dir, packages, tests, overlay string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"test", "-vet=off", "-timeout", "30s", "-run", tests}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	command := exec.CommandContext(ctx, "go", append(args, strings.Fields(packages)...)...)
	command.Dir = dir
	command.Env = without(os.Environ(), "GOWORK=")
	out, err := command.CombinedOutput()
	return string(out), err
}

// without drops a variable: this program runs outside the workspace, the tests
// inside.
func without(env []string, prefix string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, prefix) {
			kept = append(kept, v)
		}
	}
	return kept
}
