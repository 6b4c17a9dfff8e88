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

// named matches, on a page, a YAML block that is introduced by a file name.
var named = regexp.MustCompile("(?ms)^`([a-z_]+\\.yaml)`[^\n]*:\n\n```yaml\n(.*?)^```")

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
			} else if strings.HasPrefix(block[2], "policies:") {
				files++
				if _, err := (policy.Reader{Gateway: true}).Parse(name, []byte(block[2])); err != nil {
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
	if tested != 9 || files < 15 {
		t.Errorf("%d test files and %d policies files in the documentation, want 9 and at least 15", tested, files)
	}
}
