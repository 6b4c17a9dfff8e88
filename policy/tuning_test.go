package policy

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestTuningPage checks that tuning.md has each field of a limit and of a policy once, except all and first, with an
// example that sets the field. This package must read each example.
func TestTuningPage(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(page), "\n## The rest")
	examples := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `?([^|`]*)`? \\|").FindAllStringSubmatch(text, -1) {
		if _, twice := examples[row[1]]; twice {
			t.Errorf("%s has two rows", row[1])
		}
		examples[row[1]] = row[2]
	}
	for field := range fieldsIn(reflect.TypeFor[policyBody]()) {
		name := field.Name
		if name == "all" || name == "first" {
			continue
		}
		example, ok := examples[name]
		delete(examples, name)
		switch {
		case !ok:
			t.Errorf("%s has no row", name)
		case !strings.Contains(example, name+": "):
			t.Errorf("%s: the example is %s", name, example)
		}
		if example = "policies: {p: " + example + "}"; name == "deny" || name == "unlimited" {
			example = "policies: {p: 5/1m}\noverrides: [{policy: p, key: k, " + name + ": true}]"
		}
		if _, err := Parse(name, []byte(example)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range examples {
		t.Errorf("%s is no field", name)
	}
}

// TestTuningPageHasTheRestOfTheFile checks that tuning.md has each setting outside policies and overrides once, with an
// example that this package reads and that sets it.
func TestTuningPageHasTheRestOfTheFile(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/tuning.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## The rest")
	text, _, _ = strings.Cut(text, "\n## Flags")
	const policies = "policies: {api: {algorithm: token-bucket, rate: 5/s, classes: [{name: live}, {name: batch}]}, plan: 5/1m}\n"
	examples := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z_0-9.]+)` \\| `([^|`]*)` \\|").FindAllStringSubmatch(text, -1) {
		name, example := row[1], row[2]
		if _, twice := examples[name]; twice {
			t.Errorf("%s has two rows", name)
		}
		examples[name] = example
		if !strings.Contains(example, name[strings.LastIndex(name, ".")+1:]+": ") {
			t.Errorf("%s: the example is %s", name, example)
		}
		if !strings.Contains(example, "upstreams: ") {
			example += "\nupstreams: {users: http://127.0.0.1:9000}"
		}
		if _, err := Parse(name, []byte(policies+example)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range settings(reflect.TypeFor[file](), "") {
		if _, ok := examples[name]; !ok {
			t.Errorf("%s has no row", name)
		}
		delete(examples, name)
	}
	for name := range examples {
		t.Errorf("%s is no setting", name)
	}
}

// settings returns the names of the settings in a struct of the file, each with the prefix. It skips policies and
// overrides, and uses NAME for the name of each listener. The charges of a route are one setting, and so are the TLS
// files of a listener.
func settings(of reflect.Type, prefix string) map[string]bool {
	names := map[string]bool{}
	for field := range of.Fields() {
		kind := field.Type
		for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map {
			kind = kind.Elem()
		}
		name, within := prefix+field.Tag.Get("yaml"), map[string]bool{}
		if of == reflect.TypeFor[listenersFields]() {
			name = prefix + "NAME"
		}
		switch {
		case name == "policies" || name == "overrides":
		case name == prefix && kind.Kind() == reflect.Struct: // another form of the same setting
			within = settings(kind, prefix)
		case name == prefix:
			if field.Type.Kind() == reflect.Pointer { // the form that is a single value
				within[strings.TrimSuffix(prefix, ".")] = true
			}
		case kind.Kind() == reflect.Struct && kind != reflect.TypeFor[chargeFields]() && kind != reflect.TypeFor[tlsFields]():
			within = settings(kind, name+".")
		default:
			within[name] = true
		}
		maps.Copy(names, within)
	}
	return names
}
