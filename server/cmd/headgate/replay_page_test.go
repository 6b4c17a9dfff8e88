package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updatePage = flag.Bool("update-replay-page", false, "write what the commands of the pages on replay print")

// blocks matches the commands on a page, each with its output if the page shows it.
var blocks = regexp.MustCompile("```sh\n(headgate [^`]*)\n```\n(?:\n```text\n([^`]*)```\n)?")

// TestReplayPages runs the commands on the pages about replay in a copy of the example. They must print the output
// shown on the page.
func TestReplayPages(t *testing.T) {
	for name, commands := range map[string]int{"reference/replay.md": 3, "find-limits.md": 4} {
		t.Run(name, func(t *testing.T) { testReplayPage(t, name, commands) })
	}
}

func testReplayPage(t *testing.T, name string, commands int) {
	t.Helper()
	path, err := filepath.Abs("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "examples", "replay"), os.DirFS(filepath.Join(examples, "replay"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	text := string(page)
	found := blocks.FindAllStringSubmatch(text, -1)
	for _, block := range found {
		var out bytes.Buffer
		command := newRoot()
		command.SetArgs(strings.Fields(block[1])[1:])
		command.SetOut(&out)
		if err := command.Execute(); err != nil {
			t.Fatalf("%s: %v", block[1], err)
		}
		if block[2] != "" && block[2] != out.String() {
			t.Errorf("%s prints\n%s", block[1], out.String())
			text = strings.Replace(text, "```sh\n"+block[1]+"\n```\n\n```text\n"+block[2], "```sh\n"+block[1]+"\n```\n\n```text\n"+out.String(), 1)
		}
	}
	if len(found) < commands {
		t.Errorf("the page has %d commands", len(found))
	}
	if *updatePage {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
