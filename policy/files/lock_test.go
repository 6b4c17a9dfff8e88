package files_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy/files"
)

// TestLock checks that a file can be reserved once, and again after the lock is closed (regression: bug 168).
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	held, err := files.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Lock(path); err == nil || !strings.Contains(err.Error(), "state: another server uses this file; accepted: ") {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := files.Lock(path)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	_ = again.Close()
}
