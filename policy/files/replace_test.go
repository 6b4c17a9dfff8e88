package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/policy/files"
)

func text(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

// TestReplace checks that the file is replaced and readable only by its owner. After an error the file must be
// unchanged, and no other file may remain. A file left by a crash must be overwritten.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	holds := func(want string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || string(data) != want {
			t.Errorf("%q, %v, want %q", data, err, want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%v, %v, want one file", entries, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v, want 0600", info.Mode(), err)
		}
	}
	if err := files.Replace(path, text("first")); err != nil {
		t.Fatal(err)
	}
	holds("first")
	if err := os.WriteFile(path+".new", []byte("the rest of a longer write"), 0o644); err != nil { //nolint:gosec // open to others on purpose
		t.Fatal(err)
	}
	if err := files.Replace(path, text("second")); err != nil {
		t.Fatal(err)
	}
	holds("second")
	failed := errors.New("no more")
	err := files.Replace(path, func(w io.Writer) error {
		return errors.Join(text("third")(w), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	holds("second")
	if err := files.Replace(filepath.Join(path, "below"), text("x")); err == nil {
		t.Error("a path below a file is written")
	}
}
