package admin

import (
	"net/http"
	"strconv"
	"time"
)

// comparison is what the shadow of a policy would change.
type comparison struct {
	Policy string `json:"policy"`
	// Limits decide; there are none if the policy itself is the shadow.
	Limits []string `json:"limits"`
	Shadow []string `json:"shadow"`
	// Since is when these limits came into force. The counts are those since then.
	Since time.Time `json:"since"`

	BothAllowed  uint64 `json:"both_allowed"`
	BothDenied   uint64 `json:"both_denied"`
	NewlyDenied  uint64 `json:"newly_denied"`
	NewlyAllowed uint64 `json:"newly_allowed"`
	Unknown      uint64 `json:"unknown"`
}

func (a *api) shadows(_ http.ResponseWriter, r *http.Request) (any, error) {
	only := r.URL.Query().Get("policy")
	if only != "" {
		p, ok := a.inForce().current.Policies.Get(only)
		if !ok {
			return nil, noPolicy(only)
		}
		if !p.Shadow && p.Candidate() == "" {
			return nil, badField("policy", strconv.Quote(only)+" has no shadow; accepted: a policy with shadow")
		}
	}
	answer := struct {
		Shadows []comparison `json:"shadows"`
	}{[]comparison{}}
	for _, c := range a.Shadows() {
		if only != "" && c.Policy != only {
			continue
		}
		answer.Shadows = append(answer.Shadows, comparison{
			Policy: c.Policy, Limits: append([]string{}, c.Limits...), Shadow: c.Shadow, Since: c.Since,
			BothAllowed: c.Counts.BothAllowed, BothDenied: c.Counts.BothDenied,
			NewlyDenied: c.Counts.NewlyDenied, NewlyAllowed: c.Counts.NewlyAllowed, Unknown: c.Counts.Unknown,
		})
	}
	return answer, nil
}
