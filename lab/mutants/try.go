package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// These are the time limits for tests with a mistake. A mistake that makes a test hang counts as caught. A single test
// takes at most a few seconds, and the longest suite takes a minute on a quiet machine.
const (
	testLimit  = 30 * time.Second
	suiteLimit = 150 * time.Second
)

// field builds and runs the tests of the tree with all mistakes compiled in.
type field struct {
	root string
	*plantation
}

// build compiles the packages' tests, and the server that some of the tests start.
func (f *field) build(pkgs []string) error {
	args := []string{"test", "-c", "-vet=off", "-overlay=" + f.overlay(), "-o", f.dir + "/"}
	for _, pkg := range pkgs {
		args = append(args, "./"+pkg)
	}
	for _, args := range [][]string{args, {"build", "-overlay=" + f.overlay(), "-o", f.server(), "./server/cmd/headgate"}} {
		c := exec.Command("go", args...)
		c.Dir, c.Env = f.root, f.env(nil)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("the mistakes do not build; see %s for the files named here: %w\n%s", f.overlay(), err, out)
		}
	}
	return nil
}

func (f *field) server() string { return filepath.Join(f.dir, "headgate") }

// binary returns the path of a package's compiled tests.
func (f *field) binary(pkg string) string {
	name := filepath.Base(pkg)
	if pkg == "." {
		name = "headgate"
	}
	return filepath.Join(f.dir, name+".test")
}

// env returns the environment for a test process. Command mutants runs outside the workspace, but the tests run inside.
func (f *field) env(on *mutant) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOWORK=") && !strings.HasPrefix(v, "GOFLAGS=") {
			env = append(env, v)
		}
	}
	env = append(env, "GOFLAGS=-overlay="+f.overlay(), "HEADGATE_BINARY="+f.server())
	if on == nil {
		return env
	}
	if dir, ok := f.lua[on.id()]; ok {
		return append(env, fragments+"="+dir)
	}
	return append(env, fmt.Sprint(switchOn, "=", on.id()))
}

// run runs the tests in a suite, with the mistake on or, if on is nil, without a mistake. It stops at the first failing
// test. passed is false if a test fails or limit is exceeded.
func (f *field) run(s suite, on *mutant, limit time.Duration) (output string, passed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	// Skip TestNoAllocation: in the bodies of planted mistakes, some parameters escape to the heap.
	c := exec.CommandContext(ctx, f.binary(s.pkg), "-test.failfast", "-test.skip=TestNoAllocation", "-test.timeout="+limit.String(), "-test.run="+s.tests)
	c.Dir, c.Env = filepath.Join(f.root, s.pkg), f.env(on)
	// When a test ends, the processes that it started must end too.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// try returns the test that catches a mutant. It runs the known test first, if there is one. caught is false if all
// tests pass.
func (f *field) try(m *mutant, known suite) (by suite, caught bool) {
	if known.pkg != "" {
		limit := testLimit
		if m.kind == audited {
			limit = suiteLimit // the audit follows a schedule that takes nearly as long as testLimit
		}
		if _, passed := f.run(known.only(), m, limit); !passed {
			return known, true
		}
	}
	for _, s := range suitesOf(f.root, m) {
		if out, passed := f.run(s, m, suiteLimit); !passed {
			return suite{s.pkg, culprit(out)}, true
		}
	}
	return suite{}, false
}

// only returns the suite that runs a single known test, given as Test/subtest.
func (s suite) only() suite {
	if s.tests == everything {
		return suite{s.pkg, "."}
	}
	levels := strings.Split(s.tests, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return suite{s.pkg, strings.Join(levels, "/")}
}

// everything selects all tests in a package if it is not known which of them fails.
const everything = "*"

var (
	failed  = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+) \(`)
	running = regexp.MustCompile(`running tests:\n\t+(\S+) `)
)

// culprit returns the innermost test among the first failed tests in the output.
func culprit(output string) string {
	name := ""
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		if name == "" || strings.HasPrefix(found[1], name+"/") {
			name = found[1]
		}
	}
	if hung := running.FindStringSubmatch(output); name == "" && hung != nil {
		name = hung[1]
	}
	if name == "" {
		name = everything
	}
	return name
}
