package policy

import (
	"strconv"

	"github.com/headgate/headgate"
)

// Summary is what a policy is, in words: as `headgate check` and other tools show
// it.
type Summary struct {
	Name      string            `json:"name"`
	Limits    []string          `json:"limits"`
	Failure   string            `json:"failure"`
	Mode      string            `json:"mode"`
	Headers   string            `json:"headers"`
	Cost      int64             `json:"cost"`
	Shadow    bool              `json:"shadow"`
	Enabled   bool              `json:"enabled"`
	Overrides []OverrideSummary `json:"overrides,omitempty"`
}

// OverrideSummary is the limit of a key or a pattern of keys.
type OverrideSummary struct {
	Key   string `json:"key"`
	Limit string `json:"limit"`
}

// Summaries returns those of all policies, by name.
func (s *Set) Summaries() []Summary {
	all := make([]Summary, 0, len(s.Names()))
	for _, name := range s.Names() {
		p := s.byName[name]
		all = append(all, Summary{
			Name: name, Limits: p.Limits(), Failure: p.Failure.String(), Mode: p.Mode(), Headers: string(p.Headers),
			Cost: p.Cost, Shadow: p.Shadow, Enabled: p.Enabled, Overrides: p.overrides(),
		})
	}
	return all
}

// overrides returns the policy's own, those that are tried first first.
func (p *Policy) overrides() (all []OverrideSummary) {
	if p.combined || len(p.members) == 0 {
		return nil
	}
	p.members[0].rules.each(func(key string, limit headgate.Limit) {
		all = append(all, OverrideSummary{Key: key, Limit: limit.String()})
	})
	return all
}

// Differs returns what is not the default, each as it is written.
func (s *Summary) Differs() (said []string) {
	if s.Failure != Deny.String() {
		said = append(said, "failure "+s.Failure)
	}
	if s.Mode != "exact" {
		said = append(said, "mode "+s.Mode)
	}
	if s.Headers != string(HeadersDraft) {
		said = append(said, "headers "+s.Headers)
	}
	if s.Cost != 1 {
		said = append(said, "cost "+strconv.FormatInt(s.Cost, 10))
	}
	if s.Shadow {
		said = append(said, "shadow")
	}
	if !s.Enabled {
		said = append(said, "not enabled")
	}
	return said
}
