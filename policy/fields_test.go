package policy

import (
	"reflect"
	"testing"

	"github.com/headgate/headgate/engine"
)

// TestLimitFieldsFollowTheTable checks that there is a struct field of the right type for each field in package
// engine's table, with the same name in JSON and YAML.
func TestLimitFieldsFollowTheTable(t *testing.T) {
	kinds := map[engine.FieldKind]reflect.Type{
		engine.FieldUnits: reflect.TypeFor[*int64](), engine.FieldSpan: reflect.TypeFor[*string](),
		engine.FieldWord: reflect.TypeFor[*string](), engine.FieldFlag: reflect.TypeFor[*bool](),
		engine.FieldRates: reflect.TypeFor[list[WindowFields]](),
	}
	for field := range engine.Fields() {
		if _, ok := fieldIndex[field.Name]; !ok {
			t.Errorf("LimitFields has no field %s", field.Name)
		} else if got := reflect.TypeFor[LimitFields]().Field(fieldIndex[field.Name]).Type; got != kinds[field.Kind] {
			t.Errorf("%s is a %s, want a %s", field.Name, got, kinds[field.Kind])
		}
	}
	for field := range reflect.TypeFor[LimitFields]().Fields() {
		if inJSON, inYAML := field.Tag.Get("json"), field.Tag.Get("yaml"); inJSON != inYAML {
			t.Errorf("%s is %q in JSON and %q in YAML", field.Name, inJSON, inYAML)
		}
	}
}

// TestEveryFieldIsDescribedOnce checks that each field has exactly one description, in descriptions or in the table of
// package engine, and that each description belongs to a field.
func TestEveryFieldIsDescribedOnce(t *testing.T) {
	for typ, fields := range descriptions {
		count := 0
		for field := range typ.Fields() {
			name := field.Tag.Get("yaml")
			if !field.IsExported() {
				continue
			}
			_, own := described(typ, name)
			_, inTable := limitField(name)
			inTable = inTable && typ == reflect.TypeFor[LimitFields]()
			wanted := name != "" && name != ",inline"
			if own && inTable || (own || inTable) != wanted {
				t.Errorf("%s.%s: described %t, in the table %t", typ.Name(), name, own, inTable)
			}
			if own {
				count++
			}
		}
		if count != len(fields) {
			t.Errorf("%s has %d of the %d fields that are described", typ.Name(), count, len(fields))
		}
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
