// Package examples_test runs the first programs in the documentation.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// released is the line of the README for a released version. The README has another line for a clone.
var (
	released  = regexp.MustCompile(`(?m)^go get github\.com/headgate/headgate@v.*$`)
	fromClone = regexp.MustCompile(`(?m)^go mod edit .*$`)
)

// TestDocumentedProgramRunsInFreshModule follows the documentation as a reader would. It saves the page's first Go
// block as main.go in a directory next to a clone, and runs the commands for a new module there, with the line for a clone in
// place of the line for a released version. The program must print the text in its last comment.
func TestDocumentedProgramRunsInFreshModule(t *testing.T) {
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "docs/reference/go.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(clone, page))
			if err != nil {
				t.Fatal(err)
			}
			program := firstBlock(t, string(text), "go")
			_, commands, _ := strings.Cut(string(text), "\n```sh\ngo mod init demo\n")
			commands = firstBlock(t, "\n```sh\ngo mod init demo\n"+commands, "sh")
			commands = released.ReplaceAllString(commands, fromClone.FindString(string(text)))
			parent := t.TempDir()
			demo := filepath.Join(parent, "demo")
			if err := os.Mkdir(demo, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(demo, "main.go"), []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
			// The clone must be called headgate, whatever this directory's name is.
			if err := os.Symlink(clone, filepath.Join(parent, "headgate")); err != nil {
				t.Fatal(err)
			}
			if got, want := shell(t, demo, commands), documentedOutput(t, program); got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		})
	}
}

// TestSharesWithoutRedis runs the program that decides with shares while Redis is away.
func TestSharesWithoutRedis(t *testing.T) {
	source, err := os.ReadFile("12-shares/main.go")
	if err != nil {
		t.Fatal(err)
	}
	program := string(source)
	away := strings.Replace(program, "127.0.0.1:6379", "127.0.0.1:1", 1)
	name := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(name, []byte(away), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), "go", "run", "-ldflags=-s -w", name).Output()
	if want := documentedOutput(t, program); err != nil || string(printed) != want || away == program {
		t.Errorf("printed %q, %v; want %q", printed, err, want)
	}
}

// firstBlock returns the page's first fenced block in a language.
func firstBlock(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("no block of %s", language)
	}
	return block + "\n"
}

// printedLines matches the comments after the Println calls in a program.
var printedLines = regexp.MustCompile(`(?m)fmt\.Println\(.*\) +// (.*)$`)

// documentedOutput returns the comment after the last Println in a program.
func documentedOutput(t *testing.T, program string) string {
	t.Helper()
	comments := printedLines.FindAllStringSubmatch(program, -1)
	if len(comments) == 0 {
		t.Fatal("no comment says what the program prints")
	}
	return comments[len(comments)-1][1] + "\n"
}

// shell runs commands outside the workspace, and returns their output. Modules can be missing from the cache, because
// the adapters' go.mod files and the workspace require different versions. They are downloaded from the module proxy.
func shell(t *testing.T, dir, commands string) string {
	t.Helper()
	run := exec.Command("sh", "-e", "-c", commands)
	run.Dir = dir
	// The flag -trimpath lets builds in different directories share the build cache.
	run.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	var printed, problems strings.Builder
	run.Stdout, run.Stderr = &printed, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("%v:\n%s\n%s", err, commands, problems.String())
	}
	return printed.String()
}

// TestTaskPages runs the programs on the task pages with the policies from the same page. Each line must print the
// text in its comment.
func TestTaskPages(t *testing.T) {
	for _, name := range []string{"sign-ins.md", "language-models.md", "vendor-quota.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile("../docs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			dir, program := t.TempDir(), firstBlock(t, string(page), "go")
			for name, text := range map[string]string{"main.go": program, "policies.yaml": firstBlock(t, string(page), "yaml")} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "demo"), filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			run := exec.CommandContext(t.Context(), filepath.Join(dir, "demo"))
			run.Dir = dir
			printed, err := run.Output()
			want := ""
			for _, line := range printedLines.FindAllStringSubmatch(program, -1) {
				want += line[1] + "\n"
			}
			if err != nil || string(printed) != want || want == "" {
				t.Errorf("printed %q, %v; want %q", printed, err, want)
			}
		})
	}
}
