package policy

import (
	"reflect"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// fieldIndex maps the name of a field in a file to the index of its struct field in [LimitFields].
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	fields := reflect.TypeFor[LimitFields]()
	for i := range fields.NumField() {
		index[fields.Field(i).Tag.Get("yaml")] = i
	}
	return index
}()

// value returns the value of a field. If the file does not set the field, the value is a nil pointer or slice.
func (f *LimitFields) value(name string) reflect.Value {
	return reflect.ValueOf(f).Elem().Field(fieldIndex[name])
}

// has reports whether the file sets a field.
func (f *LimitFields) has(name string) bool { return !f.value(name).IsNil() }

// firstSet returns the name of the first field that the file sets, other than deny and unlimited. It returns "" if the
// file sets no such field.
func (f *LimitFields) firstSet() string {
	for field := range reflect.TypeFor[LimitFields]().Fields() {
		if name := field.Tag.Get("yaml"); name != "deny" && name != "unlimited" && f.has(name) {
			return name
		}
	}
	return ""
}

// rejectFields returns an error if the file sets one of the fields.
func (f *LimitFields) rejectFields(a algo.Algorithm, names ...string) error {
	for _, name := range names {
		if f.has(name) {
			return invalid(name, "set", "no such field on "+a.String())
		}
	}
	return nil
}

// settings returns the fields that are set, as settings for engine.Build. Build rejects settings that do not apply to
// the algorithm.
func (f *LimitFields) settings() (all []engine.Setting, err error) {
	for field := range engine.Fields() {
		if field.Kind == engine.FieldRates || !f.has(field.Name) {
			continue // rates reads the windows
		}
		set := engine.Setting{Field: field.Name}
		switch value := f.value(field.Name).Elem(); field.Kind {
		case engine.FieldUnits:
			set.Units = value.Int()
		case engine.FieldSpan:
			if set.Span, err = engine.ParseSpan(value.String()); err != nil {
				return nil, atField(err, field.Name)
			}
		case engine.FieldFlag:
			if !value.Bool() {
				continue
			}
		default:
			set.Word = value.String()
		}
		all = append(all, set)
	}
	return all, nil
}

// on returns a candidate's limit, based on the policy's own limit. As in an override, unset fields come from the
// policy. A limit as text, deny or unlimited replaces the whole limit.
func (s *LimitSpec) on(own *LimitSpec) (engine.Limit, error) {
	if s.Text != "" || s.Deny != nil || s.Unlimited != nil {
		return s.Build()
	}
	fields, err := own.fields()
	if err != nil {
		return engine.Limit{}, err
	}
	fields.overlay(&s.LimitFields)
	return fields.build()
}

// overlay replaces the fields of f that an override sets. If the override sets an algorithm, the result is a new limit
// that keeps only the name.
func (f *LimitFields) overlay(with *LimitFields) {
	name := f.Name // an override does not rename the limit
	if with.Algorithm != nil {
		*f = LimitFields{}
	}
	for field := range fieldIndex {
		if with.has(field) {
			f.value(field).Set(with.value(field))
		}
	}
	f.Name = name
	if with.Windows != nil {
		f.Limit, f.Window = nil, nil
	}
}
