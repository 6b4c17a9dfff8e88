package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var listed = regexp.MustCompile(`(?m)^//\t((?:[a-z0-9_]+\.go(?:, )?)+)`)

// TestListsOfFiles checks that the files listed in package comments exist.
func TestListsOfFiles(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range listed.FindAllSubmatch(text, -1) {
			for name := range strings.SplitSeq(string(line[1]), ", ") {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil {
					t.Errorf("%s lists %s, which is not there", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
