//go:build unix

package snapshot_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/headgate/headgate/server/internal/snapshot"
)

// TestOpenTakesFilesAlone checks that a link (even a dangling one) or a pipe causes an error at once.
func TestOpenTakesFilesAlone(t *testing.T) {
	dir := t.TempDir()
	for name, place := range map[string]func(path string) error{
		"link":    func(path string) error { return os.Symlink(os.Args[0], path) },
		"nowhere": func(path string) error { return os.Symlink(filepath.Join(dir, "none"), path) },
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := place(path); err != nil {
			t.Fatal(err)
		}
		if f, err := snapshot.Open(path); err == nil {
			t.Errorf("%s is opened: %v", name, f)
		}
	}
}
