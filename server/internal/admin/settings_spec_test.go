package admin_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

var update = flag.Bool("update", false, "write the settings of a policy in admin.yaml")

// TestSettingsOfThePage checks that admin.yaml has the settings of a policy as their rows describe them. With -update,
// the test writes them.
func TestSettingsOfThePage(t *testing.T) {
	const path, before, after = "../../../docs/reference/admin.yaml", "        # The settings, written by go test ./internal/admin -update:\n", "        # The end of the settings.\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), before)
	_, tail, ends := strings.Cut(rest, after)
	if !found || !ends {
		t.Fatal("admin.yaml has no place for the settings")
	}
	want := head + before + settingsOfThePage(t) + after + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s has not the settings of package policy: cd server && go test ./internal/admin -update", path)
	}
}

// settingsOfThePage returns a line for each setting, with the description in the schema of the policies file.
func settingsOfThePage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/policies.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Policy struct {
				OneOf []struct {
					Properties map[string]struct{ Description string }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int64: "integer"}
	var lines strings.Builder
	for field := range reflect.TypeFor[policy.Settings]().Fields() {
		name, optional, _ := strings.Cut(field.Tag.Get("json"), ",")
		typ := "type: " + types[field.Type.Kind()]
		if field.Type.Kind() == reflect.Slice {
			typ = "type: array, items: {type: string}"
		}
		about := ""
		for _, form := range schema.Defs.Policy.OneOf {
			about += form.Properties[name].Description
		}
		if name == "candidate" {
			about = "The limit of the shadow, as text."
		}
		if optional != "" {
			about += " Absent if it is not set."
		}
		fmt.Fprintf(&lines, "        %s: {%s, description: %q}\n", name, typ, strings.TrimSpace(about))
	}
	return lines.String()
}
