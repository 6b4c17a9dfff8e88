package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// orchard is a module with mutations in Go and in an embedded Lua fragment.
var orchard = map[string]string{
	"go.mod": "module orchard\n\ngo 1.26\n",
	"main.go": `package main

import (
	"embed"
	"fmt"
)

//go:embed lua/*.lua
var embedded embed.FS

type counter struct{ n int }

func (c *counter) add(n int) { c.n += n }

func (c *counter) sum(n int) (int, error) {
	if n > 1 {
		return c.n + n, nil
	}
	return c.n, nil
}

func main() {
	c := &counter{}
	c.add(1)
	fmt.Println(c.sum(2))
	text, err := embedded.ReadFile("lua/a.lua")
	fmt.Println(string(text), err)
}
`,
	"lua/a.lua": "return 1",
	"lua/b.lua": "return 2",
}

const trees = `[.] layers
counter.add ¦ c.n += n ¦ c.n -= n ¦ it subtracts
counter.sum ¦ n > 1 ¦ n > 2 ¦ two is not counted
counter.sum ¦ c.n + n ¦ c.n - n ¦ it subtracts
[lua] layers
a.lua ¦ return 1 ¦ return 7 ¦ another number
`

// One build contains all mutations. If no mutation is switched on, it behaves like the original. Otherwise it behaves
// like the original with only the selected mutation.
func TestPlantedMistakesAreSwitched(t *testing.T) {
	dir := t.TempDir()
	for name, text := range orchard {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if name == "main.go" { // replace the fragments that main.go embeds
			text = strings.Replace(text, "embedded.ReadFile(\"lua/a.lua\")", "fs.ReadFile(embedded, \"lua/a.lua\")", 1)
			text = strings.Replace(text, "\"fmt\"\n", "\"fmt\"\n\t\"io/fs\"\n", 1)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutants, err := list(trees)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := plan(dir, mutants)
	if err != nil {
		t.Fatal(err)
	}
	f := field{root: dir}
	if f.plantation, err = plant(t.TempDir(), edits, ids(mutants)); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay="+f.overlay(), "-o", f.server(), ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for n, want := range []string{"3 <nil>\nreturn 1 <nil>\n", "1 <nil>\nreturn 1 <nil>\n", "1 <nil>\nreturn 1 <nil>\n", "-1 <nil>\nreturn 1 <nil>\n", "3 <nil>\nreturn 7 <nil>\n"} {
		var on *mutant
		if n > 0 {
			on = &mutants[n-1]
		}
		c := exec.Command(f.server())
		c.Env = f.env(on)
		if out, err := c.Output(); err != nil || string(out) != want {
			t.Errorf("with mistake %d: %q, %v; want %q", n, out, err, want)
		}
	}
}

// The innermost of the tests that failed first is reported. A test that hangs is reported too.
func TestCulprit(t *testing.T) {
	for output, want := range map[string]string{
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c_d (0.00s)\n            x.go:1: no\nFAIL": "TestA/b/c_d",
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n    --- FAIL: TestA/c (0.00s)\n--- FAIL: TestB (0.00s)":              "TestA/b",
		"panic: test timed out after 1s\n\trunning tests:\n\t\tTestA/b (1s)\n\ngoroutine 1":                                           "TestA/b",
		"goleak: Errors on successful test run": everything,
	} {
		if got := culprit(output); got != want {
			t.Errorf("%q: %s, want %s", output, got, want)
		}
	}
}

// A pattern for several tests matches each of them.
func TestTogether(t *testing.T) {
	if got, want := together([]string{"TestA/x", "TestB/y/z", "TestA/w(1)"}), `^(TestA|TestB)$/^(x|y|w\(1\))$/^(z)$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := together([]string{"TestA", everything}); got != "." {
		t.Error(got)
	}
}
