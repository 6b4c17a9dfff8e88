package policy

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestPagesHaveTheFields checks that policies.md has a row with a meaning for each field of a limit and of a policy, and
// that policies.md, routes.md or gateway.md has one for each setting outside policies and overrides.
func TestPagesHaveTheFields(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\|([^|]*)\|(?:[^|\n]*\|)*? ([^|\n]+) \|$`)
	word := regexp.MustCompile(`[a-z0-9_]+`)
	rows := func(names ...string) map[string]bool {
		words := map[string]bool{}
		for _, name := range names {
			page, err := os.ReadFile("../docs/reference/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
				for _, w := range word.FindAllString(cells[1], -1) {
					words[w] = true
				}
			}
		}
		return words
	}
	policies := rows("policies.md")
	for field := range fieldsIn(reflect.TypeFor[policyBody]()) {
		if !policies[field.Name] {
			t.Errorf("policies.md has no row for %s", field.Name)
		}
	}
	all := rows("policies.md", "routes.md", "gateway.md")
	for name := range settings(reflect.TypeFor[file](), "") {
		if last := name[strings.LastIndex(name, ".")+1:]; !all[last] {
			t.Errorf("no page has a row for %s", name)
		}
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
