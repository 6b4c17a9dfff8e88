package policy

import (
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
	switch a := p.Algorithm; {
	case a.DeniesAll():
		f.Values.set("deny", true)
		return f, nil
	case a.AllowsAll():
		f.Values.set("unlimited", true)
		return f, nil
	}
	f.Values.set("algorithm", p.Algorithm.String())
	for _, field := range p.Settings {
		f.Values.set(field.Field, settingValue(field))
	}
	f.setRates(p)
	return f, nil
}

// settingValue returns a setting's value in the form of a field.
func settingValue(s engine.Setting) any {
	switch rowNamed(s.Field).Kind {
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
	switch {
	case p.Algorithm.Refills():
		f.Values.set("rate", p.Rates[0].String())
	case p.Algorithm.Holds():
		f.Values.set("limit", p.Rates[0].Count)
	case len(p.Rates) == 1:
		one := windowOf(p.Rates[0])
		f.Values.set("limit", *one.Limit)
		f.Values.set("window", *one.Window)
	default:
		windows := make(list[WindowFields], len(p.Rates))
		for i, rate := range p.Rates {
			windows[i] = windowOf(rate)
		}
		f.Values.set("windows", windows)
	}
}

func windowOf(rate engine.Rate) WindowFields {
	_, period, _ := strings.Cut(rate.String(), "/")
	if period == "s" {
		period = "1s"
	}
	return WindowFields{Limit: &rate.Count, Window: &period}
}

// textOn returns the fields that a limit's text names, without the algorithm, if the text keeps the algorithm of own:
// it names that algorithm or none. ok is false for another algorithm, and for deny, unlimited and the name of a policy.
func (f *LimitFields) textOn(text string) (named LimitFields, ok bool, err error) {
	word, _ := f.word("algorithm")
	own, known := engine.ParseAlgorithm(word)
	parts, err := engine.ParseParts(text)
	if !known || err != nil {
		return named, false, nil // the error is that of the whole limit
	}
	switch {
	case !parts.Named:
		text = word + " " + text
	case parts.Algorithm != own:
		return named, false, nil
	}
	if named, err = (&LimitSpec{Text: text}).fields(); err == nil {
		named.Values.set("algorithm", nil)
	}
	return named, true, err
}
