package site

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFigures compares the counts in docs/figures.md with the files, and the figures of fault injection with its section
// on them.
func TestFigures(t *testing.T) {
	page, faults, _ := strings.Cut(text(t, "docs/figures.md"), "\n## Customers")
	mistakes := strings.Count(text(t, "lab/mutants/catches.txt"), "\n")
	if over := figure(t, page, `over (\d+) planted mistakes`); mistakes <= over || mistakes > over*5/4 {
		t.Errorf("over %d planted mistakes: there are %d", over, mistakes)
	}
	bugs := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(text(t, "docs/design/known-bugs.md"), -1)
	if last := bugs[len(bugs)-1][1]; strconv.Itoa(figure(t, page, `(\d+) known bugs`)) != last {
		t.Errorf("the last known bug is %s", last)
	}
	vectors, err := filepath.Glob("../../storetest/vectors/*.json")
	if err != nil || len(vectors) != figure(t, page, `(\d+) files of recorded requests`) {
		t.Errorf("%d files of recorded requests, %v", len(vectors), err)
	}
	if targets := fuzzTargets(t); targets != figure(t, page, `(\d+) fuzz targets`) {
		t.Errorf("%d fuzz targets", targets)
	}
	for _, requests := range regexp.MustCompile(`\d[\d ]+\d{3}`).FindAllString(page, -1) {
		if !strings.Contains(faults, requests) {
			t.Errorf("the section on faults does not have %s", requests)
		}
	}
}

// fuzzTargets counts the fuzz targets of the repository.
func fuzzTargets(t *testing.T) (targets int) {
	t.Helper()
	if err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			targets += strings.Count("\n"+text(t, strings.TrimPrefix(path, "../../")), "\nfunc Fuzz")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return targets
}

// figure returns the number that a pattern finds in the page.
func figure(t *testing.T, page, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("figures.md has no %s", pattern)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
