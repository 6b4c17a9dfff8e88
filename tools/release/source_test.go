package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository returns a directory with one commit, which has a fixed time.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "first"}} {
		c := exec.Command("git", append([]string{"-C", root}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE=1800000000 +0200")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return root
}

// TestSource checks that the time is the commit's, and that a modified tree is rejected.
func TestSource(t *testing.T) {
	root := repository(t)
	s, err := readSource(root, "v0.9.0")
	if err != nil || s.version != "0.9.0" || s.time.Unix() != 1_800_000_000 || len(s.commit) != 40 {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(root, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSource(root, "v0.9.0"); err == nil || !strings.Contains(err.Error(), "(?? new); commit or stash the changes") {
		t.Errorf("a tree with a new file: %v", err)
	}
}

func TestVersions(t *testing.T) {
	root := repository(t)
	for _, version := range []string{"v1.0.0", "v0.10.12", "v2.0.0-rc.1", "v0.9.0-0.beta-2"} {
		if _, err := readSource(root, version); err != nil {
			t.Error(err)
		}
	}
	for _, version := range []string{"", "0.9.0", "v0.9", "v01.0.0", "v1.0.0+linux", "v1.0.0-", "v1.0.0/..", "v1.0.0\n"} {
		if _, err := readSource(root, version); err == nil || !strings.Contains(err.Error(), "accepted: a version such as v0.9.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestEmptied checks that emptied removes only an earlier release.
func TestEmptied(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("thesis.txt")
	if _, err := emptied(folder); err == nil || !strings.Contains(err.Error(), "has files and no SHA256SUMS") {
		t.Errorf("a folder with other files: %v", err)
	}
	write(marker)
	got, err := emptied(folder)
	if left, _ := os.ReadDir(folder); err != nil || got != folder || len(left) != 0 {
		t.Errorf("%s, %v, %v", got, left, err)
	}
	if _, err := emptied(filepath.Join(folder, "not", "there")); err != nil {
		t.Error(err)
	}
}
