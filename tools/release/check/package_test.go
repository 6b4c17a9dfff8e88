package check

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// packaged lists the files that are in both packages.
var packaged = []string{
	"usr/bin/headgate", "usr/lib/systemd/system/headgate.service", "etc/headgate/policies.yaml", "usr/share/man/man1/headgate.1.gz",
	"usr/share/man/man1/headgate-serve.1.gz", "usr/share/bash-completion/completions/headgate", "usr/share/fish/vendor_completions.d/headgate.fish",
}

// emptyRoot returns a directory where packages can be installed. It is accessible to every user.
func emptyRoot(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "headgate-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// debian returns an empty root, and a function that runs dpkg on it. The packages' scripts run outside the root, with
// DPKG_ROOT, because the root contains no shell.
func debian(t *testing.T) (place string, dpkg func(args ...string) string) {
	t.Helper()
	asRoot(t)
	need(t, "dpkg")
	place = emptyRoot(t)
	for _, name := range []string{"info", "updates", "triggers", "parts"} {
		if err := os.MkdirAll(filepath.Join(place, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(place, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return place, func(args ...string) string {
		t.Helper()
		return run(t, "dpkg", append([]string{"--root=" + place, "--force-script-chrootless", "--log=" + filepath.Join(place, "dpkg.log")}, args...)...)
	}
}

// debFile returns the path of the deb package for this machine.
func debFile() string {
	return named("headgate_%s-1_%s.deb", strings.Replace(*version, "-", "~", 1), runtime.GOARCH)
}

// TestDeb installs the package into an empty root, runs the server from its unit, installs the package again over a
// changed policies file, and removes it.
func TestDeb(t *testing.T) {
	place, dpkg := debian(t)
	file := debFile()
	dpkg("--install", file)
	present(t, place, "usr/share/zsh/vendor-completions/_headgate", "usr/share/doc/headgate/copyright")
	serve(t, place)

	policies := filepath.Join(place, "etc/headgate/policies.yaml")
	changed := "policies: {mine: {algorithm: token-bucket, rate: 1/s}}\n"
	if err := os.WriteFile(policies, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg("--force-confold", "--install", file)
	if got, err := os.ReadFile(policies); err != nil || string(got) != changed {
		t.Errorf("the policies were replaced: %q, %v", got, err)
	}
	dpkg("--remove", "headgate")
	if _, err := os.Stat(filepath.Join(place, "usr/bin/headgate")); err == nil {
		t.Error("the program is there after the package is removed")
	}
	if _, err := os.Stat(policies); err != nil {
		t.Error("the policies went with the package")
	}
	dpkg("--purge", "headgate")
	if _, err := os.Stat(policies); err == nil {
		t.Error("the policies are there after the package is purged")
	}
}

// TestRPM installs the package into an empty root, runs its server and erases the package.
func TestRPM(t *testing.T) {
	asRoot(t)
	need(t, "rpm")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	file := named("headgate-%s-1.%s.rpm", strings.Replace(*version, "-", "~", 1), arch)
	run(t, "rpm", "--checksig", "--nosignature", file)
	place := emptyRoot(t)
	run(t, "rpm", "--root", place, "--install", "--nodeps", "--noscripts", "--ignorearch", "--ignoreos", file)
	present(t, place, "usr/share/zsh/site-functions/_headgate", "usr/share/licenses/headgate/NOTICES")
	serve(t, place)
	run(t, "rpm", "--root", place, "--erase", "--noscripts", "headgate")
	if _, err := os.Stat(filepath.Join(place, "usr/bin/headgate")); err == nil {
		t.Error("the program is there after the package is erased")
	}
}

// present checks that all files of an installed package exist.
func present(t *testing.T, place string, more ...string) {
	t.Helper()
	for _, name := range append(more, packaged...) {
		info, err := os.Stat(filepath.Join(place, name))
		if err != nil || info.Size() == 0 {
			t.Errorf("/%s is missing: %v", name, err)
		}
	}
}
