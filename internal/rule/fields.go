package rule

import (
	"slices"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// EveryField returns limits of the algorithm: one with the default of every field that has one, and one for each
// value in values of each field and of each two fields, as far as [engine.Build] accepts them. It panics if a field of
// the algorithm has a value in none of them, so a test that goes through all of them covers every field.
func EveryField(a algo.Algorithm) []engine.Limit {
	settings := values(a)
	var limits []engine.Limit
	covered := algo.FieldsOf()
	for _, rate := range []engine.Rate{PerMinute(100), PerDay(100)} {
		required := required(a, rate, settings)
		for i, one := range settings {
			for _, two := range settings[i:] {
				limit := engine.Build(a, []engine.Rate{rate}, slices.Concat(one, two)...)
				if limit.Err() != nil {
					limit = engine.Build(a, []engine.Rate{rate}, slices.Concat(required, one, two)...)
				}
				if limit.Err() == nil && !slices.Contains(limits, limit) {
					limits = append(limits, limit)
					covered |= limit.Numbers().Fields
				}
			}
		}
	}
	for _, field := range a.Fields() {
		if !algo.FieldsOf(field).Within(covered) {
			panic("rule: no " + a.String() + " has " + field + ": add a value to values that engine.Build accepts")
		}
	}
	return limits
}

// required returns the settings without which the algorithm has no limit: none, one or two.
func required(a algo.Algorithm, rate engine.Rate, settings [][]engine.Setting) []engine.Setting {
	for i, one := range settings {
		for _, two := range settings[:i+1] {
			if both := slices.Concat(one, two); engine.Build(a, []engine.Rate{rate}, both...).Err() == nil {
				return both
			}
		}
	}
	return nil
}

// values returns no setting, and settings of each field of the algorithm. The kind of a field determines its values,
// except for words.
func values(a algo.Algorithm) [][]engine.Setting {
	words := map[string][]string{
		"align": {"clock", "UTC"}, "anchor": {"2026-01-31"}, "variant": {"weighted", "lenient"}, "name": {"a"},
	}
	all := [][]engine.Setting{nil}
	for f := range engine.Fields() {
		if !f.On(a) {
			continue
		}
		switch f.Kind {
		case engine.FieldUnits:
			for _, n := range []int64{3, 20, 1000} {
				all = append(all, []engine.Setting{{Field: f.Name, Units: n}})
			}
		case engine.FieldSpan:
			for _, d := range []time.Duration{100 * time.Millisecond, 2 * time.Second, time.Hour} {
				all = append(all, []engine.Setting{{Field: f.Name, Span: d}})
			}
		case engine.FieldRates:
			all = append(all, []engine.Setting{{Field: f.Name, Rates: []engine.Rate{Per(1000, 10*24*time.Hour)}}})
		case engine.FieldWord:
			for _, w := range words[f.Name] {
				all = append(all, []engine.Setting{{Field: f.Name, Word: w}})
			}
		case engine.FieldFlag:
			all = append(all, []engine.Setting{{Field: f.Name}})
		}
	}
	return all
}
