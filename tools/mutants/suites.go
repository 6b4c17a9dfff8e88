package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// limit is how long one suite may take with its compilation, and testLimit the tests
// themselves: a mutant that hangs them is caught. The longest take half of that on a
// quiet machine.
const (
	limit     = 4 * time.Minute
	testLimit = "90s"
)

// suite is tests of a module.
type suite struct{ dir, packages, tests string }

// conformance is what runs for a kind of mutants after the tests of the packages
// that they are planted in; the quick ones come first.
var conformance = map[string][]suite{
	"steps": {{"conform", ".", "TestMemstore|TestDifferential|TestLeasesDifferential|TestBounds|TestTogether"}},
	// What Redis decides.
	"redis": {
		{"conform", ".", "TestRedis$/^redis$/^rueidis$/(storetest|vectors|differential|batches)"},
		{"conform", ".", "TestErrors$/^out_of_memory$|TestShardsAgree|TestKeysLiveLongEnough"},
	},
	// What Redis decides where states are fields of hashes.
	"hashes": {
		{"conform", ".", "TestKeyCommandsOnHashes|TestExpiredFieldIsNoState|TestExpiredFieldsAreSwept|TestHashLives|TestFullMemoryFailsAllFields|TestLayoutsAgree|TestRelayout"},
		{"conform", ".", "TestRedis$/^hashed$/^goredis$/(storetest|vectors|differential|batches)"},
	},
	// What stands in front of a store: its own tests are all.
	"layers": nil,
	// What decides by the files of envoyproxy/ratelimit: its own tests are all. Those that
	// compare with that server need its binary.
	"envoy": nil,
	// Mistakes that only faults show: an audit of what callers were answered must see each.
	// The tests of the package are left out, because they prove nothing of the audit.
	audited: {{"conform", "./chaos", "TestChaos$"}},
	// Which requests are charged on what.
	"routes": {{"policy", ".", "TestRoutes|TestBound|TestOverrides"}},
}

const audited = "chaos"

// suitesOf returns the tests that should catch the mutants of each kind. They are
// tried in order until one fails.
func suitesOf(root string, mutants []mutant) map[string][]suite {
	suites, known := map[string][]suite{}, map[string]bool{}
	for _, m := range mutants {
		if known[m.dir+" "+m.kind] {
			continue
		}
		known[m.dir+" "+m.kind] = true
		if suites[m.kind] == nil {
			suites[m.kind] = []suite{}
		}
		if files, _ := filepath.Glob(filepath.Join(root, m.dir, "*.go")); len(files) > 0 && m.kind != audited {
			suites[m.kind] = append(suites[m.kind], suite{".", "./" + m.dir, "."})
		}
	}
	for kind := range suites {
		suites[kind] = append(suites[kind], conformance[kind]...)
	}
	return suites
}

// healthy makes sure that the tests pass without a mistake: otherwise all would
// seem caught.
func healthy(root string, suites map[string][]suite) error {
	for _, kind := range slices.Sorted(maps.Keys(suites)) {
		for _, s := range suites[kind] {
			if out, err := test(filepath.Join(root, s.dir), s.packages, s.tests, ""); err != nil {
				return fmt.Errorf("tests of %s in %s fail without a mutant:\n%s", s.packages, s.dir, out)
			}
		}
	}
	return nil
}

// try runs the tests with a mutant, and returns what became of it.
func try(root, overlay string, suites []suite) string {
	for _, s := range suites {
		out, err := test(filepath.Join(root, s.dir), s.packages, s.tests, overlay)
		if err == nil {
			continue
		}
		if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") ||
			strings.Contains(out, "go build: exit status") || strings.Contains(out, "Error compiling script") {
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
	args := []string{"test", "-vet=off", "-timeout", testLimit, "-run", tests}
	command := exec.CommandContext(ctx, "go", append(args, strings.Fields(packages)...)...)
	command.Dir = dir
	command.Env = without(os.Environ(), "GOWORK=")
	if overlay != "" {
		// Also for the programs that tests build.
		command.Env = append(without(command.Env, "GOFLAGS="), "GOFLAGS=-overlay="+overlay)
	}
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
