package clients

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

const languages = "../../examples/languages/"

// language is a program in examples/languages with the command that runs it.
type language struct {
	file string
	// command returns the part of the command line before the file name. It can install dependencies in dir, the
	// program's directory.
	command func(t *testing.T, dir string) []string
}

func tool(name string) func(*testing.T, string) []string {
	return func(t *testing.T, _ string) []string { return []string{programs.Tool(t, name)} }
}

var allLanguages = []language{
	{"redis_py.py", func(t *testing.T, _ string) []string { return []string{programs.Python(t, "redis")} }},
	{"http_stdlib.py", tool("python3")},
	{"HttpStdlib.java", func(t *testing.T, _ string) []string {
		programs.Tool(t, "javac") // a Java without a compiler cannot run a source file
		return []string{programs.Tool(t, "java")}
	}},
	{"fetch.mjs", tool("node")},
	{"ioredis.mjs", func(t *testing.T, dir string) []string {
		npmInstall(t, dir, "ioredis@5")
		return []string{programs.Tool(t, "node")}
	}},
	{"openapi.mjs", openAPIClient},
	{"redis_cli.sh", func(t *testing.T, _ string) []string {
		programs.Tool(t, "redis-cli")
		return []string{"sh"}
	}},
	{"curl.sh", func(t *testing.T, _ string) []string {
		programs.Tool(t, "curl")
		return []string{"sh"}
	}},
}

// TestLanguages runs the programs in docs/reference/languages.md. Each must print the output shown there. A program is
// denied once, waits for the time in the answer, and then passes.
func TestLanguages(t *testing.T) {
	page := readFile(t, "../../docs/reference/languages.md")
	_, want, _ := strings.Cut(page, "\n```text\n")
	want, _, found := strings.Cut(want, "```\n")
	if !found {
		t.Fatal("the page does not say what the programs print")
	}
	var tested []string
	for _, l := range allLanguages {
		tested = append(tested, l.file)
	}
	files, err := os.ReadDir(languages)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); name != "policies.yaml" && (!slices.Contains(tested, name) || !strings.Contains(page, "languages/"+name+")")) {
			t.Errorf("%s is not run here, or not on the page", name)
		}
	}
	resp, http := servePolicies(t, languages+"policies.yaml")
	for _, l := range allLanguages {
		t.Run(l.file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := listeningOn(t, readFile(t, languages+l.file), resp, http)
			if err := os.WriteFile(filepath.Join(dir, l.file), []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			words := append(l.command(t, dir), l.file)
			if got := run(t, dir, words[0], words[1:]...); got != want {
				t.Errorf("printed\n%swant\n%s", got, want)
			}
		})
	}
}

// openAPIClient generates types from the OpenAPI file and type-checks the program with them. A copy with a wrong field
// type must fail the check, which shows that the types are used.
func openAPIClient(t *testing.T, dir string) []string {
	node := programs.Tool(t, "node")
	npmInstall(t, dir, "openapi-fetch@0", "openapi-typescript@7", "typescript@5")
	file, err := filepath.Abs("../../docs/reference/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, node, "node_modules/openapi-typescript/bin/cli.js", file, "-o", "headgate.d.ts")
	wrong := strings.ReplaceAll(readFile(t, filepath.Join(dir, "openapi.mjs")), `cost: 400`, `cost: "400"`)
	if err := os.WriteFile(filepath.Join(dir, "wrong.mjs"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := try(t, dir, node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--checkJs", "--module", "nodenext", "--target", "es2022", "openapi.mjs", "wrong.mjs")
	if strings.Contains(out, "openapi.mjs(") || !strings.HasPrefix(out, "wrong.mjs(") || !strings.Contains(out, "'string' is not assignable to type 'number'") {
		t.Errorf("the types of the program, or of one with a text as its cost:\n%s", out)
	}
	return []string{node}
}

// npmInstall installs packages into a folder.
func npmInstall(t *testing.T, dir string, packages ...string) {
	t.Helper()
	words := []string{"install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"}
	run(t, dir, programs.Tool(t, "npm"), append(words, packages...)...)
}

// listeningOn returns a program's text with the documentation's default addresses replaced by the addresses resp and
// http.
func listeningOn(t *testing.T, program, resp, http string) string {
	t.Helper()
	_, port, _ := strings.Cut(resp, ":")
	changed := strings.ReplaceAll(strings.ReplaceAll(program, "6380", port), "127.0.0.1:8080", http)
	if changed == program {
		t.Fatal("the program calls neither 127.0.0.1:6380 nor 127.0.0.1:8080")
	}
	return changed
}

// servePolicies runs a server with a policies file, and returns its addresses.
func servePolicies(t *testing.T, file string) (resp, http string) {
	t.Helper()
	// A program needs all of its time on a busy machine for the two requests before the denied one.
	text := strings.Replace(readFile(t, file), "limit: 2, window: 3s", "limit: 2, window: 10s", 1)
	config, err := policy.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, daemon.Config{RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", Base: config, Logger: slog.New(slog.DiscardHandler)})
}

// start runs a server until the end of the test.
func start(t *testing.T, config daemon.Config) (resp, http string) {
	t.Helper()
	d, err := daemon.New(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- d.Run(ctx, ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if config.HTTP != daemon.Off {
		http = d.HTTPAddr().String()
	}
	return d.RESPAddr().String(), http
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
