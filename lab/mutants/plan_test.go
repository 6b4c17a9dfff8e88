package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder returns a new directory with the given files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func planned(t *testing.T, line string, files map[string]string) (string, error) {
	t.Helper()
	mutants, err := list("[.] steps\n" + line + " ¦ it breaks")
	if err != nil {
		t.Fatal(err)
	}
	edits, err := plan(folder(t, files), mutants)
	if err != nil {
		return "", err
	}
	return edits[0].changed(), nil
}

func TestPlan(t *testing.T) {
	const source = "package p\n\nfunc f(a int) int {\n\tg(a,\n\t\ta+1)\n\treturn a + 1\n}\n"
	for line, want := range map[string][2]string{
		"f ¦ g(a, a+1) ¦ g(a, a)":         {"g(a,\n\t\ta+1)", "g(a, a)"},
		"f #2 ¦ a + 1 ¦ a":                {"return a + 1", "return a"},
		"f ¦ g(a, a+1); ¦ ":               {"g(a,\n\t\ta+1)", ""},
		"f ¦ return $x + 1 ¦ return 1+$x": {"return a + 1", "return 1+a"},
	} {
		text, err := planned(t, line, map[string]string{"moved.go": source})
		if wanted := strings.Replace(source, want[0], want[1], 1); err != nil || text != wanted {
			t.Errorf("%s: %q, %v, want %q", line, text, err, wanted)
		}
	}
}

func TestPlanReportsItsFindings(t *testing.T) {
	files := map[string]string{
		"a.go":  "package p\n\nfunc f() {\n\ta = 1\n\ta = 1\n}\n",
		"b.go":  "package p\n\nfunc (T) g() { b = 2 }\n",
		"c.lua": "c = 3\n",
	}
	for line, want := range map[string]string{
		"h ¦ b = 2 ¦ b = 3":     "there is no h in .; it is in T.g",
		"f ¦ b = 2 ¦ b = 3":     "is not in f; it is in T.g",
		"f ¦ c = 3 ¦ c = 4":     "it is in c.lua",
		"f ¦ d ¦ e":             "is not in f; no function of . contains it",
		"f ¦ a = 1 ¦ a = 2":     "is in f 2 times (a.go:4, a.go:5)",
		"f #3 ¦ a = 1 ¦ a = 2":  "is in f 2 times",
		"T.g ¦ b = 2 ¦ b=2":     "replaced by the same",
		"T.g ¦ $x = 2 ¦ $y = 2": "has no $y",
	} {
		if _, err := planned(t, line, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if _, err := planned(t, "f ¦ a ¦ b", nil); err == nil || !strings.Contains(err.Error(), "there is no code in .") {
		t.Error(err)
	}
}
