package policy

import (
	"errors"
	"slices"

	"github.com/headgate/headgate/engine"
)

// errors returns an error for each invalid field, although Build stops at the first one. To find the others, it gives
// the invalid field a valid value and builds the limit again. If partly is true, some fields could not be read, and
// errors about missing fields are omitted.
func (f *LimitFields) errors(partly bool) (all []error) {
	own, seen := *f, map[string]bool{}
	for range limitNames {
		_, err := own.build()
		field := firstField(err)
		if field == "" || seen[field] {
			break
		}
		seen[field] = true
		if own.has(field) || !partly {
			all = append(all, err)
		}
		if field == "algorithm" {
			return append(all, own.textErrors()...)
		}
		if !own.replace(field) {
			break
		}
	}
	return all
}

// firstField returns the name of the field with the error, or "".
func firstField(err error) string {
	if inField, ok := errors.AsType[*fieldError](err); ok {
		if slices.Contains(limitNames, inField.path[0]) {
			return inField.path[0]
		}
	}
	return ""
}

// standIn contains valid values for fields that a limit can require.
var standIn = map[string]any{"rate": "1000/s", "limit": int64(1), "window": "1d", "max_wait": "1h", "warm_up": "1h"}

// replace puts a valid value into a field, or clears it if the algorithm does not require it. It does the same for
// fields that cannot be checked without that value. It returns false if the field's error does not hide other errors.
func (f *LimitFields) replace(field string) bool {
	name, ok := f.word("algorithm")
	if !ok || f.has("deny") || f.has("unlimited") || field == "windows" || field == "all" || field == "first" {
		return false
	}
	a, _ := engine.ParseAlgorithm(name)
	needed := false
	switch field {
	case "rate":
		needed = a.Refills()
		f.clear("max_wait", "warm_up")
	case "window":
		needed = !a.Refills() && !a.Holds()
		f.clear("align", "anchor", "segment", "segments")
	case "limit":
		needed = !a.Refills()
	case "max_wait", "warm_up":
		needed = a.Has(field)
	}
	f.Values.set(field, nil)
	if needed {
		f.Values.set(field, standIn[field])
	}
	return true
}

// clear handles the named fields that are set. It replaces each field's value with the value in standIn. If standIn has
// no value for the field, clear removes the field's value.
func (f *LimitFields) clear(names ...string) {
	for _, name := range names {
		if f.has(name) {
			f.Values.set(name, standIn[name])
		}
	}
}

// textErrors returns the errors in rates and durations, which do not depend on the algorithm.
func (f *LimitFields) textErrors() (all []error) {
	add := func(err error, path ...string) {
		if err != nil {
			all = append(all, atField(err, path...))
		}
	}
	if rate, ok := f.word("rate"); ok {
		_, err := engine.ParseRate(rate)
		add(err, "rate")
	}
	if span, ok := f.word("window"); ok {
		_, err := WindowFields{Limit: new(int64(1)), Window: &span}.rate()
		add(err)
	}
	for field := range engine.Fields() {
		if span, ok := f.word(field.Name); ok && field.Kind == engine.FieldSpan {
			_, err := engine.ParseSpan(span)
			add(err, field.Name)
		}
	}
	return all
}

// errors returns the errors in a policy's single limit and in its candidate. It returns none for a policy with "all" or
// "first". They are reported in addition to errors in its settings and in unreadable fields.
func (p *policyFields) errors() (all []error) {
	switch {
	case p.text != "":
		_, err := (&LimitSpec{Text: p.text}).Build()
		return slices.DeleteFunc([]error{err}, func(err error) bool { return err == nil })
	case p.All != nil || p.First != nil:
		return nil
	}
	all = p.LimitFields.errors(p.broken)
	if candidate := p.Settings.shadow().limit; candidate != nil {
		for _, err := range candidate.textErrors() {
			all = append(all, atField(err, "shadow"))
		}
	}
	return all
}
