package policy

import (
	"reflect"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// fieldIndex has the index of each field of [LimitFields] by its name in a file.
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	fields := reflect.TypeFor[LimitFields]()
	for i := range fields.NumField() {
		index[fields.Field(i).Tag.Get("yaml")] = i
	}
	return index
}()

// value returns the value of a field: a nil pointer or slice if it was not written.
func (f *LimitFields) value(name string) reflect.Value {
	return reflect.ValueOf(f).Elem().Field(fieldIndex[name])
}

// has reports whether a field was written.
func (f *LimitFields) has(name string) bool { return !f.value(name).IsNil() }

// firstSet returns the name of a field that was written, deny and unlimited aside, or
// "" if there is none.
func (f *LimitFields) firstSet() string {
	for field := range reflect.TypeFor[LimitFields]().Fields() {
		if name := field.Tag.Get("yaml"); name != "deny" && name != "unlimited" && f.has(name) {
			return name
		}
	}
	return ""
}

// rejectFields returns an error if one of the fields was written.
func (f *LimitFields) rejectFields(a algo.Algorithm, names ...string) error {
	for _, name := range names {
		if f.has(name) {
			return invalid(name, "set", "no such field on "+a.String())
		}
	}
	return nil
}

// settings returns the fields that were written as settings for engine.Build, which
// rejects those that the algorithm does not have.
func (f *LimitFields) settings() (all []engine.Setting, err error) {
	for field := range engine.Fields() {
		if field.Kind == engine.FieldRates || !f.has(field.Name) {
			continue // windows are read with the rate
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

// on returns the limit of a candidate beside a policy's own limit: the fields that are not
// written are the policy's, as in an override. A text, deny and unlimited are whole.
func (s *LimitSpec) on(own *LimitSpec) (headgate.Limit, error) {
	if s.Text != "" || s.Deny != nil || s.Unlimited != nil {
		return s.Build()
	}
	fields, err := own.fields()
	if err != nil {
		return headgate.Limit{}, err
	}
	fields.overlay(&s.LimitFields)
	return fields.build()
}

// overlay replaces the fields that the override writes. An algorithm begins a limit anew:
// nothing but the name stays.
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
