package policy

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// TestFieldsOfThePage checks that the table in policies.md is equal to the one generated from the tables of fields,
// which has a row for each field of a limit. With -update, the test writes the table.
func TestFieldsOfThePage(t *testing.T) {
	const path, columns = "../docs/reference/policies.md", "| field | algorithms | accepted | meaning |\n|---|---|---|---|\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), columns)
	if !found {
		t.Fatal("policies.md has no table of fields")
	}
	_, tail, _ := strings.Cut(rest, "\n\n")
	want := head + columns + rowsOfThePage() + "\n" + tail
	if flag.Lookup("update").Value.String() == "true" && want != string(page) {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s has not the fields of the tables: cd policy && go test . -update", path)
	}
}

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
