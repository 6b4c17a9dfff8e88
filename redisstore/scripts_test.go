package redisstore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

var update = flag.Bool("update", false, "write the files of lua/generated")

var blankLines = regexp.MustCompile(`\n{3,}`)

type scriptID struct {
	template template
	family   family
	hashed   bool
}

func (id scriptID) String() string {
	name := templateFiles[id.template] + "_" + familyFiles[id.family]
	if id.hashed {
		name += "_hash"
	}
	return name
}

// assembled are the scripts that operations can need.
func assembled() (all []scriptID) {
	for t := range templateCount {
		for f := familyBucket; f < familyCount; f++ {
			if t == permits && f != familyConcurrency || t == reserve && f == familyConcurrency ||
				t == merged && f > familyFixed && f != familyMixed || t == alone && f > familyFixed {
				continue
			}
			all = append(all, scriptID{t, f, false})
			if f <= familyFixed || f == familyMixed {
				all = append(all, scriptID{t, f, true})
			}
		}
	}
	return all
}

// Each script has its parts in place and no comments left, and the scripts of tests
// differ in the prelude alone.
func TestScripts(t *testing.T) {
	production := map[bool]*scripts{false: newScripts("prelude", false), true: newScripts("prelude", true)}
	tests := map[bool]*scripts{false: newScripts("prelude_replay", false), true: newScripts("prelude_replay", true)}
	seen := map[string]bool{}
	for _, s := range assembled() {
		p, q := production[s.hashed].ops[s.template][s.family](), tests[s.hashed].ops[s.template][s.family]()
		if strings.TrimPrefix(p.text, strip(fragment(embedded, "prelude"))) != strings.TrimPrefix(q.text, strip(fragment(embedded, "prelude_replay"))) {
			t.Errorf("%s: the tests run another script", s)
		}
		if len(p.text) < 500 || len(p.sha) != 40 {
			t.Errorf("%s: %d bytes, sha %q", s, len(p.text), p.sha)
		}
		// Known bug 33: some servers lack it, and Redis 5 and later do not need it.
		if strings.Contains(p.text, "replicate_commands") || strings.Contains(p.text, "--") {
			t.Errorf("%s: asks for effects to be replicated, or has comments", s)
		}
		seen[p.sha] = true
	}
	if len(seen) != len(assembled()) {
		t.Errorf("%d different scripts of %d: two have the same text", len(seen), len(assembled()))
	}
}

// Each algorithm has a family, and each family a fragment with the parts that
// decide (lua/README.md).
func TestEveryAlgorithmHasAFragment(t *testing.T) {
	for a := algo.TokenBucket; a <= algo.Unlimited; a++ {
		if int(a) >= len(families) || families[a] == 0 {
			t.Errorf("%s has no family: add it to families in scripts.go", a)
		}
	}
	for f := familyBucket; f < familyMixed; f++ {
		parts := splitParts(fragment(embedded, familyFiles[f]))
		for _, name := range []string{"settle", "wait", "room", "charge", "give", "report", "suspend", "resume", "ttl"} {
			if _, ok := parts[name]; !ok {
				t.Errorf("the fragment %q of family %d has no part %q: lua/README.md says what it does", familyFiles[f], f, name)
			}
		}
	}
}

// The files of lua/generated are assembled from the fragments beside them. With
// -update the test writes them. It reads the fragments from the disk: a mistake that
// is planted in the embedded ones must be caught by a test of decisions.
func TestGenerated(t *testing.T) {
	const dir = "lua/generated"
	want := map[string]string{}
	for _, s := range assembled() {
		want[s.String()+".lua"] = generated(s)
	}
	if *update {
		writeFiles(t, dir, want)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if want[file.Name()] != string(text) {
			t.Errorf("%s is not what its fragments make: go test ./redisstore -run TestGenerated -update", file.Name())
		}
	}
	if len(files) != len(want) {
		t.Errorf("%d files in %s, want %d: go test ./redisstore -run TestGenerated -update", len(files), dir, len(want))
	}
}

// generated returns a script as a file for readers, with the comments of its
// fragments.
func generated(id scriptID) string {
	files := os.DirFS(".")
	names := []string{"prelude", "common"}
	for _, used := range familiesIn(id.template, id.family) {
		if shared := sharedFiles[used]; shared != "" && !slices.Contains(names, shared) {
			names = append(names, shared)
		}
		names = append(names, familyFiles[used])
	}
	names = append(append(names, layoutFiles(id.template, id.hashed)...), templateFiles[id.template])
	if id.template == alone {
		names = append(names, templateFiles[merged])
	}
	return fmt.Sprintf(`-- Generated from %s.lua by "go test ./redisstore -run TestGenerated -update"; do not edit.
--
-- The fragments share the locals of common.lua: the limit and the operation that are
-- being decided, and what the parts find out about them. lua/README.md has the parts
-- and their contract. A server gets this text without comments and indentation.

`, strings.Join(names, ".lua, ")) + blankLines.ReplaceAllString(fragment(files, "prelude")+"\n"+assemble(files, id.template, id.family, id.hashed), "\n\n")
}

// writeFiles makes files, by name, the only ones in dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
