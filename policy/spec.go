package policy

import (
	"encoding/json"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/policy/yamlfile"
)

// LimitFields are the fields of one limit as written in YAML or JSON.
type LimitFields struct {
	Values values          `yaml:",table"`
	All    list[LimitSpec] `yaml:"all"`
	First  list[LimitSpec] `yaml:"first"`
}

// WindowFields are the fields of one of several windows.
type WindowFields struct {
	Limit  *int64  `json:"limit"  yaml:"limit"`
	Window *string `json:"window" yaml:"window"`
}

// LimitSpec is a limit written as fields or as text, such as "100/s burst 200". Under a policy's "all" or "first", the
// text can also be the name of another policy.
type LimitSpec struct {
	Text string
	LimitFields
}

// UnmarshalJSON reads text or fields, and rejects unknown fields.
func (s *LimitSpec) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, &s.Text)
	case len(data) > 0 && data[0] != '{':
		return json.Unmarshal(data, &jsontext.Limit{}) // null, or an error
	}
	return jsontext.Members(data, limitNames, func(name string, value []byte) error {
		switch name {
		case "all":
			return json.Unmarshal(value, &s.All)
		case "first":
			return json.Unmarshal(value, &s.First)
		default:
			return s.Values.readJSON(name, value)
		}
	})
}

// limitNames are the names of the fields in JSON.
var limitNames = append(values(nil).Names(), "all", "first")

// Build returns the limit. "all" and "first" are errors here: see [LimitSpec.Limits] and [Set].
func (s *LimitSpec) Build() (engine.Limit, error) {
	if s.Text == "" {
		return s.build()
	}
	limit, err := engine.ParseLimit(s.Text)
	return limit, meantZone(err)
}

func (f *LimitFields) build() (engine.Limit, error) {
	switch {
	case f.All != nil:
		return engine.Limit{}, invalid("all", "set", "all only at the top of a policy or request")
	case f.First != nil:
		return engine.Limit{}, invalid("first", "set", "first only at the top of a policy of the file")
	}
	if limit, ok, err := f.constant(); ok || err != nil {
		return limit, err
	}
	name, ok := f.word("algorithm")
	if !ok {
		return engine.Limit{}, invalid("algorithm", "not set", algorithmAccepted)
	}
	a, ok := engine.ParseAlgorithm(name)
	if !ok || a.Constant() {
		return engine.Limit{}, invalidMeant("algorithm", name, yamlfile.Nearest(name, allNames()), algorithmAccepted)
	}
	settings, err := f.settings()
	if err != nil {
		return engine.Limit{}, err
	}
	rates, err := f.rates(a)
	if err != nil {
		return engine.Limit{}, err
	}
	limit := engine.Build(a, rates, settings...)
	return limit, atOwnField(meantZone(limit.Err()))
}

// constant returns the limit for deny: true or unlimited: true. ok is false if neither is true, or with an error.
func (f *LimitFields) constant() (limit engine.Limit, ok bool, err error) {
	deny, unlimited := f.truth("deny"), f.truth("unlimited")
	switch {
	case !deny && !unlimited:
		return engine.Limit{}, false, nil
	case deny && unlimited:
		return engine.Limit{}, false, invalid("deny", "true with unlimited: true", "one of them")
	}
	field := "deny"
	if unlimited {
		field = "unlimited"
	}
	if name := f.firstSet("name"); name != "" {
		return engine.Limit{}, false, invalid(name, "set", "no other fields with "+field+": true")
	}
	if unlimited {
		return engine.NoLimit(), true, nil
	}
	return engine.DenyAll(), true, nil
}

// settings returns the fields that are set, as settings for engine.Build. Build rejects settings that do not apply to
// the algorithm.
func (f *LimitFields) settings() (all []engine.Setting, err error) {
	for field := range engine.Fields() {
		value := f.Values.get(field.Name)
		if value == nil || field.Kind == engine.FieldRates {
			continue // rates reads the windows
		}
		set := engine.Setting{Field: field.Name}
		switch field.Kind {
		case engine.FieldUnits:
			set.Units = value.(int64)
		case engine.FieldSpan:
			if set.Span, err = engine.ParseSpan(value.(string)); err != nil {
				return nil, atField(err, field.Name)
			}
		case engine.FieldFlag:
			if !value.(bool) {
				continue
			}
		default:
			set.Word = value.(string)
		}
		all = append(all, set)
	}
	return all, nil
}

// on returns a candidate's limit, based on the policy's own limit. As in an override, unset fields come from the
// policy. A limit as text, deny or unlimited replaces the whole limit.
func (s *LimitSpec) on(own *LimitSpec) (engine.Limit, error) {
	if s.Text != "" || s.has("deny") || s.has("unlimited") {
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
	name := f.Values.get("name") // an override does not rename the limit
	if with.has("algorithm") {
		*f = LimitFields{}
	}
	for _, v := range with.Values {
		f.Values.set(v.row.Name, v.is)
	}
	if with.All != nil {
		f.All = with.All
	}
	if with.First != nil {
		f.First = with.First
	}
	f.Values.set("name", name)
	for field, others := range map[string][]string{"windows": {"limit", "window"}, "limit": {"windows"}, "segment": {"segments"}, "segments": {"segment"}} {
		for _, other := range others {
			if with.has(field) && !with.has(other) {
				f.Values.set(other, nil) // one instead of the other
			}
		}
	}
}
