package adminapi

import (
	"encoding/json"
	"time"
)

// Summary is a policy as text.
type Summary struct {
	Name   string   `json:"name"`
	Limits []string `json:"limits"`
	// First is true if the first of the limits that has room pays. It is false if all are charged.
	First     bool   `json:"first,omitempty"`
	Failure   string `json:"failure"`
	Mode      string `json:"mode"`
	Headers   string `json:"headers"`
	Cost      int64  `json:"cost"`
	Shadow    bool   `json:"shadow"`
	Candidate string `json:"candidate,omitempty"`
	Enabled   bool   `json:"enabled"`
	// Unit is what a unit is, such as tokens.
	Unit string `json:"unit,omitempty"`
	// Classes are the classes of requests in order, such as "batch leaves 10%".
	Classes []string `json:"classes,omitempty"`
	// EstimateMax is capacity if a reserve takes at most what the limits ever let pass.
	EstimateMax string `json:"estimate_max,omitempty"`
	// SettleWithin is how long a reservation can be settled, and Unsettled what becomes of it afterwards:
	// keep, release or estimate.
	SettleWithin string `json:"settle_within,omitempty"`
	Unsettled    string `json:"unsettled,omitempty"`
	// Replicas is what a charge waits for, such as 1 within 20ms.
	Replicas  string            `json:"replicas,omitempty"`
	Overrides []OverrideSummary `json:"overrides,omitempty"`
}

// OverrideSummary is the limit of a key, or of the keys that match a pattern.
type OverrideSummary struct {
	Of    string `json:"of,omitempty"` // one limit of a policy with all or first
	Key   string `json:"key"`
	Limit string `json:"limit"`
}

// PolicyView is a policy, with the parts of the file and of the changes told apart.
type PolicyView struct {
	Name string `json:"name"`
	// InForce is the policy as it decides, and File as the file has it; nil if only a
	// change has it.
	InForce Summary  `json:"in_force"`
	File    *Summary `json:"file"`
	// ShadowLimits are the places of the limits in force that are shadows of other policies.
	ShadowLimits []int `json:"shadow_limits,omitempty"`
	// Change is the change on top; nil if there is none.
	Change *Change `json:"change"`
	// Overrides are those in force, at most 1000. OverrideCount is how many there are.
	Overrides     []Override `json:"overrides,omitempty"`
	OverrideCount int        `json:"override_count"`
}

// Override is an override in force.
type Override struct {
	Key string `json:"key"`
	// Limit is the limit in force, and File that of the file, "" if only a change has one.
	Limit  string  `json:"limit"`
	File   string  `json:"file,omitempty"`
	Change *Change `json:"change"`
}

// Policies are a page of the policies in force; Total is how many match.
type Policies struct {
	Generation uint64       `json:"generation"`
	Total      int          `json:"total"`
	Policies   []PolicyView `json:"policies"`
}

// Change is a change of a policy or of the limit of one key, on top of the file.
type Change struct {
	// Policy, Key and Fields are those of the change as package policy applies it. Key is "" for a change
	// of the policy itself.
	Policy string          `json:"policy"`
	Key    string          `json:"key,omitempty"`
	Fields json.RawMessage `json:"fields"`
	// Author is the operator that made the change, and Reason why.
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
	// At is when the change was made; Expires is when it ends, zero if only a clear ends it.
	// Both are by the clock of the store, if servers share one.
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires,omitzero"`
	// Version grows with each change of the same policy and key.
	Version int64 `json:"version"`
}

// Changes are all changes on top of the file.
type Changes struct {
	Changes []Change `json:"changes"`
}

// ChangeName names the change that an operator ends.
type ChangeName struct {
	Policy string `json:"policy"`
	// Key is nil for the change of the policy itself.
	Key    *string `json:"key,omitempty"`
	Author string  `json:"author,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// NewChange is a change that an operator makes.
type NewChange struct {
	ChangeName

	Fields  json.RawMessage `json:"fields,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	// For is how long the change lasts, in place of Expires.
	For string `json:"for,omitempty"`
}

// Trial is what a change would do: the policies that would differ.
type Trial struct {
	Policies []Difference `json:"policies"`
}

// Difference is a policy before and after a change; Before is nil for a new policy.
type Difference struct {
	Name   string   `json:"name"`
	Before *Summary `json:"before"`
	After  Summary  `json:"after"`
}

// Shadow is what the shadow of a policy would change.
type Shadow struct {
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

// Shadows are all of them.
type Shadows struct {
	Shadows []Shadow `json:"shadows"`
}
