package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageLicenses checks that there is a license for every library in the operator page, and that a library's new
// version must be reviewed again.
func TestPageLicenses(t *testing.T) {
	if _, err := pageLicenses("../../server/internal/page/web"); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"LICENSES": "\nsmall 1.0.0:\nMIT\n", "package.json": `{"dependencies":{"small":"1.0.1"}}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pageLicenses(folder); err == nil || !strings.Contains(err.Error(), `has no line "small 1.0.1:"`) {
		t.Errorf("another version: %v", err)
	}
}

// TestLicensesOf checks that a package's own license files and its module's are found, and that a module without
// license files is an error.
func TestLicensesOf(t *testing.T) {
	top := t.TempDir()
	inner := filepath.Join(top, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string][]string{}
	if err := licensesOf("m v1", top, inner, files); err == nil || !strings.Contains(err.Error(), "m v1 has no file with its license") {
		t.Errorf("no license: %v", err)
	}
	for _, name := range []string{"LICENSE", "license.go", "inner/NOTICE.txt", "inner/readme"} {
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := licensesOf("m v1", top, inner, files); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(strings.Join(files["m v1"], " "), top, ""); got != "/LICENSE /inner/NOTICE.txt" {
		t.Errorf("%q", got)
	}
}
