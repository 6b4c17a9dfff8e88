package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headgate/headgate/policy"
)

// TestErrorsOfInvalidFiles parses each invalid file in the archives in testdata/bad and compares its errors with the
// next file in the archive, which lists them. The flag -update writes the lists (regression: bug 171, bug 279).
func TestErrorsOfInvalidFiles(t *testing.T) {
	files := 0
	for _, path := range glob(t, "testdata/bad/*.txt") {
		archive := txtar.Parse([]byte(read(t, path)))
		for i := 0; i+1 < len(archive.Files); i += 2 {
			input, want := archive.Files[i], &archive.Files[i+1]
			files++
			got := errorsOf(t, input.Name, input.Data)
			if *update {
				want.Data = []byte(got)
			}
			if got != string(want.Data) {
				t.Errorf("%s %s:\n%s\ngot\n%swant\n%s", path, input.Name, input.Data, got, want.Data)
			}
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if files < 100 {
		t.Errorf("%d invalid files, want at least 100: does the search still work?", files)
	}
}

// errorsOf returns the errors in an invalid file, one per line.
func errorsOf(t *testing.T, name string, data []byte) string {
	t.Helper()
	_, err := policy.Parse(name, data)
	var all policy.Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Errorf("%s is accepted, or has another error: %v\n%s", name, err, data)
		return ""
	}
	for _, e := range all {
		if e.Line < 1 || e.Column < 1 || strings.Contains(e.Message, "\n") {
			t.Errorf("%s: no position, or more than one line: %q", name, e)
		}
		if e.Line > 1 && !strings.Contains(e.Excerpt, ">") {
			t.Errorf("%s: no excerpt: %q", name, e.Excerpt)
		}
	}
	return err.Error() + "\n"
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}
