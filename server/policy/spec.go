package policy

import (
	"encoding/json"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// LimitFields are the fields of one limit as written, in YAML or JSON. A nil
// field was not written.
type LimitFields struct {
	Name        *string            `json:"name"         yaml:"name"`
	Algorithm   *string            `json:"algorithm"    yaml:"algorithm"`
	Rate        *string            `json:"rate"         yaml:"rate"`
	Burst       *int64             `json:"burst"        yaml:"burst"`
	Debt        *int64             `json:"debt"         yaml:"debt"`
	MaxWait     *string            `json:"max_wait"     yaml:"max_wait"`
	MaxQueue    *int64             `json:"max_queue"    yaml:"max_queue"`
	Limit       *int64             `json:"limit"        yaml:"limit"`
	Window      *string            `json:"window"       yaml:"window"`
	Align       *string            `json:"align"        yaml:"align"`
	Segments    *int64             `json:"segments"     yaml:"segments"`
	Segment     *string            `json:"segment"      yaml:"segment"`
	Variant     *string            `json:"variant"      yaml:"variant"`
	Windows     list[WindowFields] `json:"windows"      yaml:"windows"`
	Lease       *string            `json:"lease"        yaml:"lease"`
	CountDenied *bool              `json:"count_denied" yaml:"count_denied"`
	Deny        *bool              `json:"deny"         yaml:"deny"`
	Unlimited   *bool              `json:"unlimited"    yaml:"unlimited"`
	All         list[LimitSpec]    `json:"all"          yaml:"all"`
}

// WindowFields is one of several windows.
type WindowFields struct {
	Limit  *int64  `json:"limit"  yaml:"limit"`
	Window *string `json:"window" yaml:"window"`
}

// LimitSpec is a limit written as fields or as text: "100/s burst 200", or the
// name of a policy inside all.
type LimitSpec struct {
	Text string
	LimitFields
}

// UnmarshalYAML reads a text or fields.
func (s *LimitSpec) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&s.Text); err == nil {
		return nil
	}
	return unmarshal(&s.LimitFields)
}

// UnmarshalJSON reads a text or fields, and refuses fields it does not know.
func (s *LimitSpec) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.Text)
	}
	if deep(data) {
		return refuse("limit", "nested too deeply", "all only at the top, and windows inside it")
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&s.LimitFields)
}

// Build makes the limit. A spec with all is a policy's: see [Set].
func (s *LimitSpec) Build() (headgate.Limit, error) {
	if s.Text == "" {
		return s.build()
	}
	limit, err := headgate.ParseLimit(s.Text)
	if err == nil && limit.Algorithm() == algo.Concurrency {
		return headgate.Limit{}, &headgate.InputError{Field: "algorithm", Value: `"concurrency"`, Accepted: concurrencyAccepted}
	}
	return limit, err
}

func (f *LimitFields) build() (headgate.Limit, error) {
	if f.All != nil {
		return headgate.Limit{}, refuse("all", "set", "all only at the top of a policy or request")
	}
	if limit, ok, err := f.constant(); ok || err != nil {
		return limit, err
	}
	if f.Algorithm == nil {
		return headgate.Limit{}, refuse("algorithm", "not set", algorithmAccepted)
	}
	a, ok := engine.ParseAlgorithm(*f.Algorithm)
	if !ok || a == algo.DenyAll || a == algo.Unlimited {
		return headgate.Limit{}, refuse("algorithm", quote(*f.Algorithm), algorithmAccepted)
	}
	if a == algo.Concurrency {
		return headgate.Limit{}, refuse("algorithm", `"concurrency"`, concurrencyAccepted)
	}
	settings, err := f.settings()
	if err != nil {
		return headgate.Limit{}, err
	}
	rates, err := f.rates(a)
	if err != nil {
		return headgate.Limit{}, err
	}
	limit := engine.Build(a, rates, settings...)
	return limit, atOwn(limit.Err())
}

// constant returns the limits that have no algorithm.
func (f *LimitFields) constant() (limit headgate.Limit, ok bool, err error) {
	deny, unlimited := f.Deny != nil && *f.Deny, f.Unlimited != nil && *f.Unlimited
	switch {
	case !deny && !unlimited:
		return headgate.Limit{}, false, nil
	case deny && unlimited:
		return headgate.Limit{}, false, refuse("deny", "true beside unlimited: true", "one of them")
	}
	field := "deny"
	if unlimited {
		field = "unlimited"
	}
	rest := *f
	rest.Deny, rest.Unlimited, rest.Name = nil, nil, nil
	if written := rest.written(); written != "" {
		return headgate.Limit{}, false, refuse(written, "set", "no other fields beside "+field+": true")
	}
	if unlimited {
		return headgate.NoLimit(), true, nil
	}
	return headgate.DenyAll(), true, nil
}
