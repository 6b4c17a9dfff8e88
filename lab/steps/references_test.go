package steps

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const list = `(\d+(?:(?:, | and | to )\d+)*)`

var (
	ruleReference    = regexp.MustCompile(`(?i)\brules? ` + list)
	bugReference     = regexp.MustCompile(`(?i)\b(?:known|regression:) bugs? ` + list)
	sectionReference = regexp.MustCompile(`(?i)\(section ` + list)
	number           = regexp.MustCompile(`(to )?(\d+)`)
)

// Every rule, section and known bug whose number appears in comments and docs exists in docs/, and a test refers to
// each known bug by its number.
func TestReferences(t *testing.T) {
	rules, bugs := read(t, "docs/design/rules.md"), read(t, "docs/design/known-bugs.md")
	files, err := exec.Command("git", "-C", "../..", "ls-files", "*.go", "*.lua", "*.md", "*.txt").Output()
	if err != nil {
		t.Fatal(err)
	}
	named := map[int]bool{}
	for name := range strings.FieldsSeq(string(files)) {
		text := read(t, name)
		for _, n := range numbers(ruleReference, text) {
			if !strings.Contains(rules, "**Rule "+strconv.Itoa(n)+".") {
				t.Errorf("%s names rule %d, which docs/design/rules.md does not have", name, n)
			}
		}
		for _, n := range numbers(sectionReference, text) {
			if !strings.Contains(rules, "## Section "+strconv.Itoa(n)+":") {
				t.Errorf("%s names section %d, which docs/design/rules.md does not have", name, n)
			}
		}
		for _, n := range numbers(bugReference, text) {
			if !strings.Contains(bugs, "\n"+strconv.Itoa(n)+". ") {
				t.Errorf("%s names known bug %d, which docs/design/known-bugs.md does not have", name, n)
			}
			named[n] = named[n] || strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/")
		}
	}
	for n := 1; strings.Contains(bugs, "\n"+strconv.Itoa(n)+". "); n++ {
		if !named[n] {
			t.Errorf("no test names known bug %d", n)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + name)
	if os.IsNotExist(err) {
		return "" // the file was deleted, but this is not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// numbers returns all numbers matched by a pattern. "18 to 20" yields three.
func numbers(pattern *regexp.Regexp, text string) (found []int) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		last := 0
		for _, part := range number.FindAllStringSubmatch(m[1], -1) {
			n, _ := strconv.Atoi(part[2])
			for between := last + 1; part[1] != "" && between < n; between++ {
				found = append(found, between)
			}
			found, last = append(found, n), n
		}
	}
	return found
}
