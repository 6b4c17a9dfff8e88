package redisstore

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

var update = flag.Bool("update", false, "write the checksums of the scripts, and the script in lua/README.md")

// Each script is fully assembled and contains no comments. The scripts for tests differ only in the prelude.
func TestScripts(t *testing.T) {
	production, tests := newScripts("prelude"), newScripts("prelude_replay")
	script := func(of *scripts, id scriptID) *script {
		if id.many {
			return of.many[id.family]()
		}
		return of.ops[id.template][id.family]()
	}
	seen := map[string]bool{}
	for _, s := range assembled() {
		p, q := script(production, s), script(tests, s)
		if strings.TrimPrefix(p.text, strip(fragment(embedded, "prelude"))) != strings.TrimPrefix(q.text, strip(fragment(embedded, "prelude_replay"))) {
			t.Errorf("%s: the tests run another script", s)
		}
		if len(p.text) < 500 || len(p.sha) != 40 {
			t.Errorf("%s: %d bytes, sha %q", s, len(p.text), p.sha)
		}
		// Regression: bug 33. Some servers lack replicate_commands, and Redis 5 and later do not need it.
		if strings.Contains(p.text, "replicate_commands") || strings.Contains(p.text, "--") {
			t.Errorf("%s: asks for effects to be replicated, or has comments", s)
		}
		seen[p.sha] = true
	}
	if len(seen) != len(assembled()) {
		t.Errorf("%d different scripts of %d: two have the same text", len(seen), len(assembled()))
	}
}

// Each algorithm belongs to a family, and each family has a fragment with the parts needed to decide (lua/README.md).
func TestEveryAlgorithmHasAFragment(t *testing.T) {
	for _, a := range algo.Algorithms() {
		if families[a] == 0 {
			t.Errorf("%s has no family: add it to fragments in families.go", a)
		}
	}
	for f := familyBucket; f < familyMixed; f++ {
		parts := splitParts(fragment(embedded, fragments[f].file))
		if shared := fragments[f].shared; shared != "" {
			maps.Copy(parts, splitParts(fragment(embedded, shared)))
		}
		for _, name := range []string{"settle", "wait", "room", "charge", "give", "report", "suspend", "resume", "ttl"} {
			if _, ok := parts[name]; !ok {
				t.Errorf("the fragment %q of family %d has no part %q: lua/README.md says what it does", fragments[f].file, f, name)
			}
		}
	}
}

var (
	comments = regexp.MustCompile(`--.*`)
	// An assignment has names, and values on the same line.
	assignments = regexp.MustCompile(`([\w.]+(?:, [\w.]+)*) =(?: (.*)|\n)`)
	words       = regexp.MustCompile(`\w+`)
)

// While a script decides several limits of a family, suspend keeps the locals of each limit, with all that args sets,
// and resume gives every value its name back.
func TestSuspendedLocalsAreResumed(t *testing.T) {
	for f := familyBucket; f < familyMixed; f++ {
		file := fragments[f].file
		parts := splitParts(fragment(embedded, file))
		_, list, _ := strings.Cut(strings.TrimSpace(parts["suspend"]), "{ ")
		var suspended, resumed []string
		for value := range strings.SplitSeq(strings.TrimSuffix(list, " }"), ", ") {
			name, _, _ := strings.Cut(value, " or ") // another value instead of nil
			suspended = append(suspended, fmt.Sprintf("%s = suspended[%d]", name, len(suspended)+1))
		}
		for _, m := range assignments.FindAllStringSubmatch(parts["resume"], -1) {
			values := strings.Split(m[2], ", ")
			for i, name := range strings.Split(m[1], ", ") {
				if values[i] != "nil" {
					resumed = append(resumed, name+" = "+values[i])
				}
			}
		}
		if !slices.Equal(suspended, resumed) {
			t.Errorf("%s.lua suspends %q and resumes %q", file, suspended, resumed)
		}
		shared := splitParts(fragment(embedded, fragments[f].shared))
		locals := words.FindAllString(comments.ReplaceAllString(parts["locals"]+shared["locals"], ""), -1)
		for _, m := range assignments.FindAllStringSubmatch(comments.ReplaceAllString(parts["args"], ""), -1) {
			for name := range strings.SplitSeq(m[1], ", ") {
				name, _, _ = strings.Cut(name, ".") // of a table
				if slices.Contains(locals, name) && !slices.Contains(words.FindAllString(list, -1), name) {
					t.Errorf("%s.lua: args sets %s, and suspend does not keep it", file, name)
				}
			}
		}
	}
}

// TestScriptSums checks a checksum of each script. The checksums show which scripts a change to a fragment affects.
// With -update the test writes the checksums, and the table and the example in lua/README.md. It reads the fragments
// from disk, so that a mutation of the embedded fragments must be detected by a test of decisions, not by this test.
func TestScriptSums(t *testing.T) {
	var sums strings.Builder
	texts := map[string]string{}
	for _, id := range assembled() {
		text := id.text(os.DirFS("."))
		texts[id.String()] = text
		fmt.Fprintf(&sums, "%x %s\n", sha256.Sum256([]byte(text)), id)
	}
	const example = "lookup_bucket"
	same(t, "testdata/scripts.sha256", func(string) string { return sums.String() })
	same(t, "lua/README.md", func(page string) string {
		head, _, _ := strings.Cut(page, "```lua\n")
		before, after, _ := strings.Cut(head, tableHead)
		_, after, _ = strings.Cut(after, "\n\n")
		return before + tableHead + tableOfFragments() + "\n" + after + "```lua\n" + texts[example] + "```\n"
	})
}

const tableHead = "| fragments | number | algorithms |\n|---|---|---|\n"

// tableOfFragments returns the table for lua/README.md.
func tableOfFragments() string {
	var table strings.Builder
	for f := familyBucket; f < familyMixed; f++ {
		shared := ""
		if fragments[f].shared != "" {
			shared = ", with `" + fragments[f].shared + ".lua`"
		}
		var names []string
		for _, a := range fragments[f].algorithms {
			names = append(names, a.String())
		}
		fmt.Fprintf(&table, "| `%s.lua`%s | %d | %s |\n", fragments[f].file, shared, f, strings.Join(names, ", "))
	}
	return table.String()
}

// same compares a file with the expected text. With -update, it writes the file.
func same(t *testing.T, path string, want func(is string) string) {
	t.Helper()
	is, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	text := want(string(is))
	if *update && text != string(is) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(is) {
		t.Errorf("%s is not what the fragments make: go test ./redisstore -run TestScriptSums -update", path)
	}
}

// TestScriptsAreYielded checks that each script is yielded by name, as assembled.
func TestScriptsAreYielded(t *testing.T) {
	n := 0
	for name, text := range Scripts() {
		if n++; !strings.HasPrefix(text, "-- "+name+": ") || !strings.Contains(text, "redis.call('TIME')") {
			t.Errorf("%s begins with %.80q", name, text)
		}
	}
	if n != len(assembled()) {
		t.Errorf("%d scripts, want %d", n, len(assembled()))
	}
}
