package policy

import (
	"reflect"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// place is where each field stands in [LimitFields], by the name it is written with.
var place = func() map[string]int {
	places := map[string]int{}
	fields := reflect.TypeFor[LimitFields]()
	for i := range fields.NumField() {
		places[fields.Field(i).Tag.Get("yaml")] = i
	}
	return places
}()

// value returns what was written in a field; a nil pointer or slice where nothing was.
func (f *LimitFields) value(name string) reflect.Value {
	return reflect.ValueOf(f).Elem().Field(place[name])
}

// has reports whether a field was written.
func (f *LimitFields) has(name string) bool { return !f.value(name).IsNil() }

// written returns the name of a field that was written, or "".
func (f *LimitFields) written() string {
	for field := range reflect.TypeFor[LimitFields]().Fields() {
		if name := field.Tag.Get("yaml"); name != "deny" && name != "unlimited" && f.has(name) {
			return name
		}
	}
	return ""
}

// without refuses fields that the algorithm does not have.
func (f *LimitFields) without(a algo.Algorithm, names ...string) error {
	for _, name := range names {
		if f.has(name) {
			return refuse(name, "set", "no such field on "+a.String())
		}
	}
	return nil
}

// settings turns the written fields into the limit's settings. Those that do not suit
// the algorithm are refused when the limit is built.
func (f *LimitFields) settings() (all []engine.Setting, err error) {
	for _, field := range engine.Fields() {
		if field.Kind == engine.FieldRates || !f.has(field.Name) {
			continue // windows are read with the rate
		}
		set := engine.Setting{Field: field.Name}
		switch value := f.value(field.Name).Elem(); field.Kind {
		case engine.FieldUnits:
			set.Units = value.Int()
		case engine.FieldSpan:
			if set.Span, err = engine.ParseSpan(value.String()); err != nil {
				return nil, at(err, field.Name)
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

// overlay replaces the fields that are written in the other.
func (f *LimitFields) overlay(with *LimitFields) {
	if with.Algorithm != nil && (f.Algorithm == nil || *with.Algorithm != *f.Algorithm) {
		*f = LimitFields{Name: f.Name}
	}
	name := f.Name // belongs to the policy, whatever limit the key has
	for field := range place {
		if with.has(field) {
			f.value(field).Set(with.value(field))
		}
	}
	f.Name = name
	if with.Windows != nil {
		f.Limit, f.Window = nil, nil
	}
}
