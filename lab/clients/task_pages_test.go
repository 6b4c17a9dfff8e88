package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/programs"
)

// printedByPython matches the comments after the print calls in a program.
var printedByPython = regexp.MustCompile(`(?m)^print\(.*\)  # (.*)$`)

// TestLanguageModels runs the Python program in docs/language-models.md with a server that uses the page's policies.
// Each print call must print the text in its comment.
func TestLanguageModels(t *testing.T) {
	page := readFile(t, "../../docs/language-models.md")
	block := func(language string) string {
		_, rest, found := strings.Cut(page, "\n```"+language+"\n")
		text, _, closed := strings.Cut(rest, "```\n")
		if !found || !closed {
			t.Fatalf("no block of %s", language)
		}
		return text
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	resp, http := servePolicies(t, write("policies.yaml", block("yaml")))
	want := ""
	for _, line := range printedByPython.FindAllStringSubmatch(block("python"), -1) {
		want += line[1] + "\n"
	}
	program := write("client.py", listeningOn(t, block("python"), resp, http))
	if got := run(t, dir, programs.Tool(t, "python3"), program); got != want || want == "" {
		t.Errorf("printed %q, want %q", got, want)
	}
}
