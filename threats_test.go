package headgate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsNameTheirTests checks that each line of docs/design/threats.md names existing tests.
func TestThreatsNameTheirTests(t *testing.T) {
	page, err := os.ReadFile("docs/design/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+)`")
	lines := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.Contains(line, "---") || strings.Contains(line, "| test |") {
			continue
		}
		lines++
		tests := named.FindAllStringSubmatch(cells[3], -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, test := range tests {
			if !defines(t, test[1], test[2]) {
				t.Errorf("%s has no %s", test[1], test[2])
			}
		}
	}
	if lines < 30 {
		t.Errorf("%d lines; the page has over 30", lines)
	}
}

// defines reports whether a test file in a directory defines the named test.
func defines(t *testing.T, directory, test string) bool {
	t.Helper()
	if directory == "headgate" {
		directory = "."
	}
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
