package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// values are the fields of a limit that a file or a request sets. Each has a row in limitRows.
type values []setField

type setField struct {
	row *engine.Field
	is  any // of the type of the row's kind
}

// limitRows lists the fields of a limit: its rate, the table of package engine, and the fields that replace a rate.
var limitRows = slices.Concat(rateRows, slices.Collect(engine.Fields()), constantRows)

// rowNamed returns the row of a field, or nil if no field of a limit has the name.
func rowNamed(name string) *engine.Field {
	for i := range limitRows {
		if limitRows[i].Name == name {
			return &limitRows[i]
		}
	}
	return nil
}

// typeOf maps the kinds of fields to the types of their values in a file. All others are text.
var typeOf = map[engine.FieldKind]reflect.Type{
	engine.FieldUnits: reflect.TypeFor[int64](),
	engine.FieldFlag:  reflect.TypeFor[bool](),
	engine.FieldRates: reflect.TypeFor[list[WindowFields]](),
}

// Names implements [yamlfile.Table].
func (values) Names() (names []string) {
	for i := range limitRows {
		names = append(names, limitRows[i].Name)
	}
	return names
}

// Type implements [yamlfile.Table].
func (values) Type(name string) reflect.Type { return typeOfKind(rowNamed(name).Kind) }

func typeOfKind(kind engine.FieldKind) reflect.Type {
	if t := typeOf[kind]; t != nil {
		return t
	}
	return reflect.TypeFor[string]()
}

// Set implements [yamlfile.Table].
func (v *values) Set(name string, value reflect.Value) { v.set(name, value.Interface()) }

// get returns the value of a field, or nil if the field is not set.
func (v values) get(name string) any {
	for i := range v {
		if v[i].row.Name == name {
			return v[i].is
		}
	}
	return nil
}

// set sets a field, or removes it if the value is nil. It changes no copy of v.
func (v *values) set(name string, is any) {
	changed := make(values, 0, len(*v)+1)
	for _, old := range *v {
		if old.row.Name != name {
			changed = append(changed, old)
		}
	}
	if is != nil {
		row := rowNamed(name)
		if row == nil {
			panic("policy: a limit has no field " + name)
		}
		changed = append(changed, setField{row: row, is: is})
	}
	*v = changed
}

// readJSON sets a field to its value in JSON. null leaves it unset.
func (v *values) readJSON(name string, data []byte) error {
	kind, is := rowNamed(name).Kind, any(nil)
	switch text := string(data); {
	case text == "null":
		return nil
	case kind == engine.FieldFlag && (text == "true" || text == "false"):
		is = text == "true"
	case kind == engine.FieldUnits && len(text) < 19 && text[0] >= '0' && text[0] <= '9':
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			is = n
		}
	case typeOf[kind] == nil && text[0] == '"' && bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data):
		is = text[1 : len(text)-1]
	}
	if is == nil { // a list, an escape, or a value of the wrong type
		to := reflect.New(v.Type(name))
		if err := json.Unmarshal(data, to.Interface()); err != nil {
			return err
		}
		is = to.Elem().Interface()
	}
	if v.get(name) != nil {
		v.set(name, nil)
	}
	*v = append(*v, setField{row: rowNamed(name), is: is}) // no copy of v exists yet
	return nil
}

// word, number and truth return the value of a field of that type. ok is false, and truth is false, if it is not set.
func (f *LimitFields) word(name string) (text string, ok bool) {
	text, ok = f.Values.get(name).(string)
	return text, ok
}

func (f *LimitFields) number(name string) (n int64, ok bool) {
	n, ok = f.Values.get(name).(int64)
	return n, ok
}

func (f *LimitFields) truth(name string) bool {
	is, _ := f.Values.get(name).(bool)
	return is
}

func (f *LimitFields) has(name string) bool {
	switch name {
	case "all":
		return f.All != nil
	case "first":
		return f.First != nil
	default:
		return f.Values.get(name) != nil
	}
}

// firstSet returns the name of the first field that is set, other than deny, unlimited and the named ones. It returns
// "" if there is no such field.
func (f *LimitFields) firstSet(except ...string) string {
	for _, name := range limitNames {
		if name != "deny" && name != "unlimited" && f.has(name) && !slices.Contains(except, name) {
			return name
		}
	}
	return ""
}

func (f *LimitFields) rejectFields(a algo.Algorithm, names ...string) error {
	for _, name := range names {
		if f.has(name) {
			return invalid(name, "set", "no such field on "+a.String())
		}
	}
	return nil
}
