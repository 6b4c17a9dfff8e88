package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestUpgrade upgrades a package from an earlier build to the release. The changed policies are kept, and the release
// continues with the state that the earlier program wrote. The client stays the same: it uses the path that the
// earlier program knows.
func TestUpgrade(t *testing.T) {
	if *previous == "" {
		t.Skip("*** no -previous: NO UPGRADE IS TESTED ***")
	}
	place, dpkg := debian(t)
	dpkg("--install", earlier(t))
	policies := filepath.Join(place, "etc/headgate/policies.yaml")
	changed := []byte("policies: {login: {algorithm: sliding-log, limit: 4, window: 1h}}\n")
	if err := os.WriteFile(policies, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(place, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	if got := login(t, place, "/v1/allow", 3, "--snapshot", "/state/snapshot"); !slices.Equal(got, []int{200, 200, 200}) {
		t.Fatalf("the earlier program answers %v", got)
	}
	dpkg("--force-confold", "--install", debFile())
	if got := run(t, "chroot", place, "/usr/bin/headgate", "version"); got != "headgate v"+*version+"\n" {
		t.Errorf("the program after the upgrade is %q", got)
	}
	if got, err := os.ReadFile(policies); err != nil || !slices.Equal(got, changed) {
		t.Errorf("the policies were replaced: %q, %v", got, err)
	}
	if got := login(t, place, "/v1/allow", 2, "--snapshot", "/state/snapshot"); !slices.Equal(got, []int{200, 429}) {
		t.Errorf("of four requests an hour three were taken before the upgrade; statuses of two more: %v", got)
	}
}

// earlier returns a package like the release's, but with the earlier program and version 0.0.1.
func earlier(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	tree := filepath.Join(folder, "tree")
	run(t, "dpkg-deb", "--raw-extract", debFile(), tree)
	program, err := os.ReadFile(*previous)
	if err == nil {
		err = os.WriteFile(filepath.Join(tree, "usr/bin/headgate"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	control, err := os.ReadFile(filepath.Join(tree, "DEBIAN/control"))
	if err != nil {
		t.Fatal(err)
	}
	control = regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAll(control, []byte("Version: 0.0.1-1"))
	if err := os.WriteFile(filepath.Join(tree, "DEBIAN/control"), control, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "headgate_0.0.1-1.deb")
	run(t, "dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", tree, file)
	return file
}
