package policy

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestTuningPage checks that tuning.md has each field of a limit and of a policy once, with an example that this package
// reads and that sets the field.
func TestTuningPage(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(page), "\n## Flags")
	examples := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `?([^|`]*)`? \\|").FindAllStringSubmatch(text, -1) {
		if _, twice := examples[row[1]]; twice {
			t.Errorf("%s has two rows", row[1])
		}
		examples[row[1]] = row[2]
	}
	for _, of := range []reflect.Type{reflect.TypeFor[LimitFields](), reflect.TypeFor[policyBody]()} {
		for field := range of.Fields() {
			name := field.Tag.Get("yaml")
			if _, ok := supported(of, name); !ok || name == "all" || name == "first" {
				continue
			}
			example, ok := examples[name]
			delete(examples, name)
			switch {
			case !ok:
				t.Errorf("%s has no row", name)
			case !strings.Contains(example, name+": "):
				t.Errorf("%s: the example is %s", name, example)
			case name == "rank":
				continue // only in a request: in a file, the classes set it
			}
			if example = "policies: {p: " + example + "}"; name == "deny" || name == "unlimited" {
				example = "policies: {p: 5/1m}\noverrides: [{policy: p, key: k, " + name + ": true}]"
			}
			if _, err := Parse(name, []byte(example)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name := range examples {
		t.Errorf("%s is no field", name)
	}
}
