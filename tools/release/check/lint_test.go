package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLintian checks that lintian reports nothing except the overrides.
func TestLintian(t *testing.T) {
	need(t, "lintian")
	for _, file := range globbed(t, "*.deb") {
		if out := run(t, "lintian", "--allow-root", "--fail-on", "error,warning,info,pedantic", file); out != "" {
			t.Errorf("%s:\n%s", filepath.Base(file), out)
		}
	}
}

// TestRpmlint checks that rpmlint reports nothing except the filters in deploy/package/rpmlint.toml.
func TestRpmlint(t *testing.T) {
	need(t, "rpmlint")
	out := run(t, "rpmlint", append([]string{"-c", filepath.Join(*root, "deploy", "package", "rpmlint.toml")}, globbed(t, "*.rpm")...)...)
	if !strings.Contains(out, "2 packages and 0 specfiles checked; 0 errors, 0 warnings") {
		t.Error(out)
	}
}

// TestManuals checks that mandoc can format every manual page, and that there is a page for each command.
func TestManuals(t *testing.T) {
	need(t, "mandoc")
	top := extract(t, named("headgate_%s_linux_amd64.tar.gz", *version))
	pages, err := filepath.Glob(filepath.Join(top, "*", "man", "*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	run(t, "mandoc", append([]string{"-T", "lint", "-W", "error"}, pages...)...)
	if page := run(t, "mandoc", "-T", "ascii", filepath.Join(filepath.Dir(pages[0]), "headgate-serve.1")); !strings.Contains(page, "--drain") && !strings.Contains(page, "-\b--\b-d\bdr\bra") {
		t.Errorf("headgate-serve(1) does not have its flags:\n%s", page)
	}
}

// TestCompletions checks that each shell can parse its script.
func TestCompletions(t *testing.T) {
	top := extract(t, named("headgate_%s_linux_amd64.tar.gz", *version))
	for shell, script := range map[string]string{"bash": "headgate.bash", "zsh": "_headgate", "fish": "headgate.fish"} {
		t.Run(shell, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(top, "*", "completions", script))
			if err != nil || len(found) != 1 {
				t.Fatalf("%s is missing: %v", script, err)
			}
			need(t, shell)
			run(t, shell, "-n", found[0])
		})
	}
}

// TestUnit checks that systemd accepts the unit in the packages, and rates its exposure as low.
func TestUnit(t *testing.T) {
	need(t, "systemd-analyze", "dpkg-deb")
	place := t.TempDir()
	run(t, "dpkg-deb", "-x", globbed(t, "*_amd64.deb")[0], place)
	unit := filepath.Join(place, "usr/lib/systemd/system/headgate.service")
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", unit).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exposure := regexp.MustCompile(`Overall exposure level for headgate\.service: ([0-9.]+)`).FindSubmatch(out)
	if exposure == nil {
		t.Fatalf("no exposure:\n%s", out)
	}
	if level, err := strconv.ParseFloat(string(exposure[1]), 64); err != nil || level > 1.6 {
		t.Errorf("exposure %s, at most 1.6", exposure[1])
	}
	t.Logf("exposure %s", exposure[1])
	// The verify command requires that the program exists at the unit's path.
	text, err := os.ReadFile(unit)
	if err == nil {
		err = os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/bin/headgate", filepath.Join(place, "usr/bin/headgate"))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(run(t, "systemd-analyze", "verify", "--man=false", unit)) {
		if strings.Contains(line, "headgate") {
			t.Error(line)
		}
	}
}

// globbed returns the release files that match a pattern. There must be at least one.
func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(named("%s", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found
}
