package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/policy/files"
)

// TestRead checks that a file of the maximum size is read completely, and that for a larger one Read returns an error
// and no data.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, c := range []struct {
		content, most int
		want          string // in the error, after the path
	}{
		{0, 10, ""},
		{10, 10, ""},
		{11, 10, ": over 10 bytes; accepted: up to 10 bytes"},
		{1025, 1 << 10, ": over 1 KiB; accepted: up to 1 KiB"},
		{1 << 21, 1 << 20, ": over 1 MiB; accepted: up to 1 MiB"},
	} {
		if err := os.WriteFile(path, make([]byte, c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := files.Read(path, c.most)
		switch {
		case c.want == "" && (err != nil || len(data) != c.content):
			t.Errorf("%d of %d bytes: %d %v", c.content, c.most, len(data), err)
		case c.want != "" && (err == nil || err.Error() != path+c.want || data != nil):
			t.Errorf("%d of %d bytes: %d %v", c.content, c.most, len(data), err)
		}
	}
	if _, err := files.Read(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := files.Read(dir, 1); err == nil || !strings.Contains(err.Error(), dir+": a directory; accepted: a file") {
		t.Errorf("a directory: %v", err)
	}
}

// A named pipe is rejected, because opening it would wait for a writer forever.
func TestNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "policies.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := files.Read(pipe, 1); err == nil || !strings.Contains(err.Error(), pipe+": not a regular file; accepted: a file") {
		t.Error(err)
	}
}
