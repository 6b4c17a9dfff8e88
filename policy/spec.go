package policy

import (
	"encoding/json"
	"reflect"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/policy/yamlfile"
)

// LimitFields are the fields of one limit as written in YAML or JSON. Fields that are not set are nil.
type LimitFields struct {
	Name        *string            `json:"name"         yaml:"name"`
	Algorithm   *string            `json:"algorithm"    yaml:"algorithm"`
	Rate        *string            `json:"rate"         yaml:"rate"`
	Burst       *int64             `json:"burst"        yaml:"burst"`
	Debt        *int64             `json:"debt"         yaml:"debt"`
	MaxWait     *string            `json:"max_wait"     yaml:"max_wait"`
	MaxQueue    *int64             `json:"max_queue"    yaml:"max_queue"`
	WarmUp      *string            `json:"warm_up"      yaml:"warm_up"`
	Weight      *int64             `json:"weight"       yaml:"weight"`
	Nested      *bool              `json:"nested"       yaml:"nested"`
	Min         *int64             `json:"min"          yaml:"min"`
	Max         *int64             `json:"max"          yaml:"max"`
	Interval    *string            `json:"interval"     yaml:"interval"`
	Failures    *int64             `json:"failures"     yaml:"failures"`
	MaxPause    *string            `json:"max_pause"    yaml:"max_pause"`
	Block       *string            `json:"block"        yaml:"block"`
	MaxBlock    *string            `json:"max_block"    yaml:"max_block"`
	Forget      *string            `json:"forget"       yaml:"forget"`
	Limit       *int64             `json:"limit"        yaml:"limit"`
	Window      *string            `json:"window"       yaml:"window"`
	Align       *string            `json:"align"        yaml:"align"`
	Anchor      *string            `json:"anchor"       yaml:"anchor"`
	Segments    *int64             `json:"segments"     yaml:"segments"`
	Segment     *string            `json:"segment"      yaml:"segment"`
	Variant     *string            `json:"variant"      yaml:"variant"`
	Windows     list[WindowFields] `json:"windows"      yaml:"windows"`
	Lease       *string            `json:"lease"        yaml:"lease"`
	CountDenied *bool              `json:"count_denied" yaml:"count_denied"`
	NextPays    *bool              `json:"next_pays"    yaml:"next_pays"`
	Deny        *bool              `json:"deny"         yaml:"deny"`
	Unlimited   *bool              `json:"unlimited"    yaml:"unlimited"`
	All         list[LimitSpec]    `json:"all"          yaml:"all"`
	First       list[LimitSpec]    `json:"first"        yaml:"first"`
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
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.Text)
	}
	return jsontext.Object(data, &s.LimitFields, limitNames)
}

// limitNames are the names of the fields in JSON.
var limitNames = jsonNames(reflect.TypeFor[LimitFields]())

// jsonNames returns the names of the fields of a struct.
func jsonNames(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		names = append(names, field.Tag.Get("json"))
	}
	return names
}

// Build returns the limit. "all" and "first" are errors here: see [LimitSpec.Limits] and [Set].
func (s *LimitSpec) Build() (engine.Limit, error) {
	if s.Text == "" {
		return s.build()
	}
	return engine.ParseLimit(s.Text)
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
	if f.Algorithm == nil {
		return engine.Limit{}, invalid("algorithm", "not set", algorithmAccepted)
	}
	a, ok := engine.ParseAlgorithm(*f.Algorithm)
	if !ok || a.Constant() {
		return engine.Limit{}, invalid("algorithm", engine.Quote(*f.Algorithm), algorithmAccepted+yamlfile.DidYouMean(*f.Algorithm, allNames()))
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
	return limit, atOwnField(limit.Err())
}

// constant returns the limit for deny: true or unlimited: true. ok is false if neither is true, or with an error.
func (f *LimitFields) constant() (limit engine.Limit, ok bool, err error) {
	deny, unlimited := f.Deny != nil && *f.Deny, f.Unlimited != nil && *f.Unlimited
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
	rest := *f
	rest.Deny, rest.Unlimited, rest.Name = nil, nil, nil
	if name := rest.firstSet(); name != "" {
		return engine.Limit{}, false, invalid(name, "set", "no other fields with "+field+": true")
	}
	if unlimited {
		return engine.NoLimit(), true, nil
	}
	return engine.DenyAll(), true, nil
}
