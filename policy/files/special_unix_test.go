//go:build unix

package files_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/headgate/headgate/policy/files"
)

// TestReplaceFollowsNoLink checks that a link or a pipe with the temporary file's name is removed, that the link's
// target is unchanged, and that nothing waits for the other end of a pipe.
func TestReplaceFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "state"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("of others"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func() error{
		"link": func() error { return os.Symlink(other, path+".new") },
		"pipe": func() error { return syscall.Mkfifo(path+".new", 0o600) },
	} {
		if err := place(); err != nil {
			t.Fatal(err)
		}
		if err := files.Replace(path, text(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != name {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if got, _ := os.ReadFile(other); string(got) != "of others" {
		t.Errorf("the file behind the link: %q", got)
	}
}
