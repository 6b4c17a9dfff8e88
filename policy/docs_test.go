package policy

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// TestFieldsOfThePages checks that the table in policies.md and the lists in limits.md are equal to those generated from
// the tables of fields. With -update, the test writes them.
func TestFieldsOfThePages(t *testing.T) {
	const columns = "| field | algorithms | accepted | meaning |\n|---|---|---|---|\n"
	checkPage(t, "../docs/reference/policies.md", columns, rowsOfThePage())
	checkPage(t, "../docs/reference/limits.md", "if another word implies it:\n\n", impliedOfThePage())
	checkPage(t, "../docs/reference/limits.md", "then the fields, in any order:\n\n", wordsOfThePage())
}

// checkPage checks that the text that follows on a page, up to the next empty line, is the wanted one.
func checkPage(t *testing.T, path, after, wanted string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), after)
	if !found {
		t.Fatalf("%s does not contain %q", path, after)
	}
	_, tail, _ := strings.Cut(rest, "\n\n")
	want := head + after + wanted + "\n" + tail
	if flag.Lookup("update").Value.String() == "true" && want != string(page) {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s has not the fields of the tables: cd policy && go test . -update", path)
	}
}

// impliedOfThePage lists the fields that select an algorithm if a limit's text names none.
func impliedOfThePage() string {
	text := "- A rate alone means `token-bucket`.\n"
	for _, a := range algo.Algorithms() {
		var names []string
		for f := range engine.Fields() {
			if f.Implies() == a {
				names = append(names, "`"+f.Name+"`")
			}
		}
		switch n := len(names); n {
		case 0:
		case 1:
			text += fmt.Sprintf("- %s means `%s`.\n", names[0], a)
		default:
			text += fmt.Sprintf("- %s or %s means `%s`.\n", strings.Join(names[:n-1], ", "), names[n-1], a)
		}
	}
	return text
}

// wordsOfThePage lists the fields as they are written in a limit's text, by the kind of their values.
func wordsOfThePage() string {
	var numbers, spans, flags, others []string
	for f := range engine.Fields() {
		switch {
		case f.Name == "variant":
			flags = append(flags, strings.Split(f.Accepted, ", ")...)
		case f.Kind == engine.FieldUnits:
			numbers = append(numbers, f.Name+" N")
		case f.Kind == engine.FieldSpan:
			spans = append(spans, f.Name+" SPAN")
		case f.Kind == engine.FieldFlag:
			flags = append(flags, f.Name)
		case f.Kind == engine.FieldWord:
			others = append(others, f.Name+" "+formOfTheWord[f.Name])
		}
	}
	text := ""
	for _, words := range [][]string{numbers, spans, flags, others} {
		for line := range slices.Chunk(words, 6) {
			text += "    " + strings.Join(line, "   ") + "\n"
		}
	}
	return text
}

// formOfTheWord has the form of the value of each field that is a word.
var formOfTheWord = map[string]string{"align": "first | clock | ZONE", "anchor": "DATE[THH:MM]", "name": `NAME | "NAME WITH BLANKS"`}

// rowsOfThePage returns a table row for each field of a limit in a file, with its algorithms, values and purpose.
func rowsOfThePage() string {
	var rows strings.Builder
	for f := range fieldsIn(reflect.TypeFor[LimitFields]()) {
		name := f.Name
		if name == "all" || name == "first" {
			continue
		}
		accepted := f.Accepted
		if name == "algorithm" {
			accepted = namesOfThePage()
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", name, strings.Join(algorithmsWith(name), ", "), code.ReplaceAllString(accepted, "`$0`"), code.ReplaceAllString(f.About, "`$0`"))
	}
	return rows.String()
}

// code matches the words that the page shows as code: true, false, and field names that contain an underscore.
var code = regexp.MustCompile(`\b(true|false|[a-z]+_[a-z_]+)\b`)

// namesOfThePage returns the names of the algorithms, formatted as code.
func namesOfThePage() string {
	var names []string
	for _, a := range fileAlgorithms {
		name := "`" + a.String() + "`"
		if aliases := a.Names()[1:]; len(aliases) > 0 {
			name += " (aliases `" + strings.Join(aliases, "`, `") + "`)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// algorithmsWith returns the algorithms whose limits can set a field. It returns nil for a field that does not depend
// on the algorithm.
func algorithmsWith(field string) (names []string) {
	has := rowNamed(field).On
	switch field {
	case "name", "algorithm", "deny", "unlimited":
		return nil
	case "rate":
		has = algo.Algorithm.Refills
	case "limit":
		has = func(a algo.Algorithm) bool { return !a.Refills() }
	case "window":
		has = func(a algo.Algorithm) bool { return !a.Refills() && !a.Holds() }
	}
	for _, a := range fileAlgorithms {
		if has(a) {
			names = append(names, a.String())
		}
	}
	return names
}

// TestPagesHideLimitsForAll checks the files of the pages and examples: a limit for all clients shows no headers.
func TestPagesHideLimitsForAll(t *testing.T) {
	routed := 0
	check := func(where, text string) {
		config, err := (Reader{Gateway: true}).Parse(where, []byte(text))
		if err != nil || len(config.Routes.Routes()) == 0 {
			return // a part of a file
		}
		routed++
		if notes := strings.Join(config.Notes(), "\n"); strings.Contains(notes, "counts all clients under one key") {
			t.Errorf("%s: %s", where, notes)
		}
	}
	for _, root := range []string{"../docs", "../examples"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".md" && filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if filepath.Ext(path) == ".yaml" {
				check(path, string(data))
				return err
			}
			for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
				text, _, _ := strings.Cut(block, "```")
				check(path, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if routed < 20 {
		t.Errorf("only %d files with routes", routed)
	}
}
