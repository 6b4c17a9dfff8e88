package policy

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine/algo"
)

// TestFieldsOfThePage: the table of policies.md lists the algorithms of each field, as the table of algorithms does.
// With -update the test writes it.
func TestFieldsOfThePage(t *testing.T) {
	const path = "../docs/reference/policies.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), "| field | algorithms | values | default |\n")
	if !found {
		t.Fatal("policies.md has no table of fields")
	}
	table, tail, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(table, "\n")
	for _, a := range fileAlgorithms {
		for _, field := range a.Fields() {
			if !strings.Contains(table, "| `"+field+"` |") {
				t.Errorf("%s has no row for %s of %s", path, field, a)
			}
		}
	}
	for i, row := range rows {
		cells := strings.Split(row, "|")
		name := strings.Trim(cells[1], " `")
		if name == "algorithm" {
			cells[3] = " " + namesOfThePage() + " "
		} else if with := algorithmsWith(name); with != nil {
			cells[2] = " " + strings.Join(with, ", ") + " "
		}
		rows[i] = strings.Join(cells, "|")
	}
	want := head + "| field | algorithms | values | default |\n" + strings.Join(rows, "\n") + "\n\n" + tail
	if flag.Lookup("update").Value.String() == "true" && want != string(page) {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s does not name the algorithms of the table: cd policy && go test . -update", path)
	}
}

// namesOfThePage are the names of the algorithms, as code.
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

// algorithmsWith returns the algorithms whose limits have a field, or nil for a field that does not depend on the
// algorithm.
func algorithmsWith(field string) (names []string) {
	table, known := limitField(field)
	has := table.On
	switch {
	case field == "name", field != "rate" && field != "limit" && field != "window" && !known:
		return nil
	case field == "rate":
		has = algo.Algorithm.Refills
	case field == "limit":
		has = func(a algo.Algorithm) bool { return !a.Refills() }
	case field == "window":
		has = func(a algo.Algorithm) bool { return !a.Refills() && !a.Holds() }
	}
	for _, a := range fileAlgorithms {
		if has(a) {
			names = append(names, a.String())
		}
	}
	return names
}
