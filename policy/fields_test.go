package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
)

// TestEveryFieldIsDescribedOnce checks that each field has exactly one description, in descriptions or in limitRows, and
// that each description belongs to a field.
func TestEveryFieldIsDescribedOnce(t *testing.T) {
	for typ, fields := range descriptions {
		count := 0
		for field := range typ.Fields() {
			name := field.Tag.Get("yaml")
			_, own := described(typ, name)
			if wanted := field.IsExported() && name != "" && name != ",inline" && name != ",table"; own != wanted {
				t.Errorf("%s.%s: described %t", typ.Name(), name, own)
			}
			if own {
				count++
			}
		}
		if count != len(fields) {
			t.Errorf("%s has %d of the %d fields that are described", typ.Name(), count, len(fields))
		}
	}
	seen := map[string]bool{}
	for _, name := range limitNames {
		if seen[name] {
			t.Errorf("%s has two rows", name)
		}
		seen[name] = true
	}
}

// Each field of package engine's table can be written in YAML and in JSON, with the same result. A value of another type
// and an unknown name are errors that name the field.
func TestFieldsOfTheTableAreRead(t *testing.T) {
	values := map[engine.FieldKind]string{engine.FieldUnits: "7", engine.FieldSpan: `"7s"`, engine.FieldWord: `"seven"`, engine.FieldFlag: "true", engine.FieldRates: `[{"limit": 7, "window": "7s"}]`}
	for field := range engine.Fields() {
		text := `{"` + field.Name + `": ` + values[field.Kind] + `}`
		var inJSON, inYAML LimitSpec
		if err := json.Unmarshal([]byte(text), &inJSON); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := readFields(text, &inYAML); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, want := fmt.Sprint(inJSON.Values.get(field.Name)), fmt.Sprint(inYAML.Values.get(field.Name)); !inJSON.has(field.Name) || field.Kind != engine.FieldRates && got != want {
			t.Errorf("%s: %s in JSON, %s in YAML", text, got, want)
		}
		mismatch, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal([]byte(`{"`+field.Name+`": {}}`), &inJSON))
		if !ok || mismatch.Field != field.Name {
			t.Errorf("%s of the wrong type: %v", field.Name, mismatch)
		}
	}
	var spec LimitSpec
	for _, err := range []error{json.Unmarshal([]byte(`{"rate": "5/s", "jitter": "1m"}`), &spec), readFields(`{"rate": "5/s", "jitter": "1m"}`, &spec)} {
		if err == nil || !strings.Contains(err.Error(), `unknown field "jitter"`) {
			t.Errorf("an unknown field: %v", err)
		}
	}
}

// A copy of a limit's fields keeps its values when the other copy changes.
func TestCopiesOfValuesAreIndependent(t *testing.T) {
	var a LimitFields
	a.Values.set("rate", "5/s")
	a.Values.set("burst", int64(7))
	b, c := a, a
	b.Values.set("burst", int64(8))
	c.overlay(&LimitFields{Values: values{{row: rowNamed("debt"), is: int64(1)}}})
	a.Values.set("rate", nil)
	if burst, _ := a.number("burst"); burst != 7 || a.has("rate") || a.has("debt") || !b.has("rate") || !c.has("debt") || !c.has("burst") {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}

// TestFileAlgorithmsAreKnown checks that package engine accepts every algorithm name of a file.
func TestFileAlgorithmsAreKnown(t *testing.T) {
	for _, a := range fileAlgorithms {
		for _, name := range a.Names() {
			if got, ok := engine.ParseAlgorithm(name); !ok || got != a {
				t.Errorf("ParseAlgorithm(%q) is %v, %t, want %v", name, got, ok, a)
			}
		}
	}
}
