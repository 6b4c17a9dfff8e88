package policytest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/policytest"
)

var (
	// named matches, on a page, a YAML block whose introduction ends with a file name, or begins with it.
	named = regexp.MustCompile("(?ms)^(?:[^\n`]*(?:`[^\n`]*`[^\n`]*)*?)`([a-z_]+\\.yaml)`[^\n]*:\n\n```yaml\n(.*?)^```")
	// yamlBlock matches every YAML block, and policiesFile the beginning of the policies in a file.
	yamlBlock    = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	policiesFile = regexp.MustCompile(`(?m)^policies:$`)
)

// TestDocumentedCases parses the policies files in the documentation, and runs its test files against them.
func TestDocumentedCases(t *testing.T) {
	var pages []string
	for _, folder := range []string{"", "concepts/", "reference/"} {
		some, err := filepath.Glob("../../../docs/" + folder + "*.md")
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, some...)
	}
	tested, files := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		var tests []string
		for _, block := range named.FindAllStringSubmatch(string(text), -1) {
			name := filepath.Join(folder, block[1])
			if err := os.WriteFile(name, []byte(block[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.yaml") {
				tests = append(tests, name)
			}
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			if policiesFile.MatchString(block[1]) {
				files++
				if _, err := (policy.Reader{Gateway: true}).Parse(page, []byte(block[1])); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			}
		}
		for _, name := range tests {
			tested++
			f, err := policytest.Load(name)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			r, err := f.Run(t.Context())
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
			for _, d := range r.Differences {
				t.Errorf("%s: %s", page, &d)
			}
		}
	}
	if tested != 4 || files < 30 {
		t.Errorf("%d test files and %d policies files in the documentation, want 4 and at least 30", tested, files)
	}
}

// span matches code in a table: a policy in braces, or a key in brackets.
var span = regexp.MustCompile("`([{[][^`]*[]}])`")

// TestPoliciesForOtherLimiters parses each policy and each key in the table of docs/migrating-from-proxies.md.
func TestPoliciesForOtherLimiters(t *testing.T) {
	text, err := os.ReadFile("../../../docs/migrating-from-proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "\n|---|---|---|---|\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	found := 0
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, " | ")
		if len(cells) != 4 {
			t.Fatalf("a row has %d cells: %s", len(cells), row)
		}
		p := span.FindStringSubmatch(cells[1])
		if p == nil {
			continue
		}
		found++
		file := "policies: {p: " + p[1] + "}\nroutes:\n"
		for _, key := range span.FindAllStringSubmatch(cells[2], -1) {
			file += "  - {empty_key: skip, key: " + key[1] + ", policies: [p]}\n"
		}
		if !strings.Contains(file, "key: [") {
			file = strings.TrimSuffix(file, "routes:\n")
		}
		if _, err := (policy.Reader{Gateway: true}).Parse("p.yaml", []byte(file)); err != nil {
			t.Errorf("%s: %v", cells[0], err)
		}
	}
	if found < 10 {
		t.Errorf("the table has %d policies, want at least 10", found)
	}
}
