package policy

import (
	"strconv"

	"github.com/headgate/headgate"
)

// Summary describes a policy as text, for `headgate check` and other tools.
type Summary struct {
	Name      string            `json:"name"`
	Limits    []string          `json:"limits"`
	Failure   string            `json:"failure"`
	Mode      string            `json:"mode"`
	Headers   string            `json:"headers"`
	Cost      int64             `json:"cost"`
	Shadow    bool              `json:"shadow"`
	Candidate string            `json:"candidate,omitempty"`
	Enabled   bool              `json:"enabled"`
	Overrides []OverrideSummary `json:"overrides,omitempty"`
}

// OverrideSummary is the limit of a key, or of the keys that match a pattern.
type OverrideSummary struct {
	Key   string `json:"key"`
	Limit string `json:"limit"`
}

// Summaries describes all policies in the order of their names.
func (s *Set) Summaries() []Summary {
	all := make([]Summary, 0, len(s.Names()))
	for _, name := range s.Names() {
		p := s.byName[name]
		all = append(all, Summary{
			Name: name, Limits: p.Limits(), Failure: p.Failure.String(), Mode: p.Mode(), Headers: string(p.Headers),
			Cost: p.Cost, Shadow: p.Shadow, Candidate: p.Candidate(), Enabled: p.Enabled, Overrides: p.overrides(),
		})
	}
	return all
}

// overrides returns the overrides of the policy in the order of precedence.
func (p *Policy) overrides() (all []OverrideSummary) {
	if p.combined || len(p.members) == 0 {
		return nil
	}
	p.members[0].rules.each(func(key string, limit headgate.Limit) {
		all = append(all, OverrideSummary{Key: key, Limit: limit.String()})
	})
	return all
}

// NonDefaults returns the settings that differ from the defaults, such as "cost 5".
func (s *Summary) NonDefaults() (settings []string) {
	if s.Failure != Deny.String() {
		settings = append(settings, "failure "+s.Failure)
	}
	if s.Mode != "exact" {
		settings = append(settings, "mode "+s.Mode)
	}
	if s.Headers != string(HeadersDraft) {
		settings = append(settings, "headers "+s.Headers)
	}
	if s.Cost != 1 {
		settings = append(settings, "cost "+strconv.FormatInt(s.Cost, 10))
	}
	if s.Shadow {
		settings = append(settings, "shadow")
	}
	if s.Candidate != "" {
		settings = append(settings, "candidate "+s.Candidate)
	}
	if !s.Enabled {
		settings = append(settings, "not enabled")
	}
	return settings
}
