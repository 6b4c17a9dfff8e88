package policy

import (
	"reflect"
	"strings"

	"github.com/headgate/headgate/engine"
)

// fields returns the limit as fields, so that other fields can replace some of them. If the limit is text, fields
// parses it. Fields with default values stay unset.
func (s *LimitSpec) fields() (f LimitFields, err error) {
	if s.Text == "" {
		return s.LimitFields, nil
	}
	p, err := engine.ParseParts(s.Text)
	if err != nil {
		return f, err
	}
	set := func(name string, value any) {
		at := reflect.New(f.value(name).Type().Elem())
		at.Elem().Set(reflect.ValueOf(value))
		f.value(name).Set(at)
	}
	switch a := p.Algorithm; {
	case a.DeniesAll():
		set("deny", true)
		return f, nil
	case a.AllowsAll():
		set("unlimited", true)
		return f, nil
	}
	set("algorithm", p.Algorithm.String())
	for _, field := range p.Settings {
		set(field.Field, settingValue(field))
	}
	f.setRates(p)
	return f, nil
}

// settingValue returns a setting's value in the form of a field.
func settingValue(s engine.Setting) any {
	field, _ := limitField(s.Field)
	switch field.Kind {
	case engine.FieldUnits:
		return s.Units
	case engine.FieldSpan:
		return s.Span.String()
	case engine.FieldFlag:
		return true
	default:
		return s.Word
	}
}

// setRates sets the fields that describe the limit's rates.
func (f *LimitFields) setRates(p engine.Parts) {
	text := p.Rates[0].String()
	switch {
	case p.Algorithm.Refills():
		f.Rate = &text
	case p.Algorithm.Holds():
		f.Limit = &p.Rates[0].Count
	case len(p.Rates) == 1:
		one := windowOf(p.Rates[0])
		f.Limit, f.Window = one.Limit, one.Window
	default:
		f.Windows = make(list[WindowFields], len(p.Rates))
		for i, rate := range p.Rates {
			f.Windows[i] = windowOf(rate)
		}
	}
}

func windowOf(rate engine.Rate) WindowFields {
	_, period, _ := strings.Cut(rate.String(), "/")
	if period == "s" {
		period = "1s"
	}
	return WindowFields{Limit: &rate.Count, Window: &period}
}
