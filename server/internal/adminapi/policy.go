package adminapi

import (
	"encoding/json"
	"time"

	"github.com/headgate/headgate/policy"
)

var (
	ListPolicies = Call[None, Policies]{Pattern: "GET /admin/v1/policies"}
	ShowPolicy   = Call[None, PolicyView]{Pattern: "GET /admin/v1/policies/{name}"}
	ListChanges  = Call[None, Changes]{Pattern: "GET /admin/v1/changes"}
	TryChange    = Call[NewChange, Trial]{Pattern: "POST /admin/v1/changes/try"}
	MakeChange   = Call[NewChange, ActiveChange]{Pattern: "POST /admin/v1/changes", Acts: true}
	ClearChange  = Call[ChangeName, Change]{Pattern: "POST /admin/v1/changes/clear", Acts: true}
	ListShadows  = Call[None, Shadows]{Pattern: "GET /admin/v1/shadows"}
)

// PolicyView is a policy, with the contributions of the file and of changes shown separately.
type PolicyView struct {
	Name string `json:"name"`
	// InForce is the active policy. File is the policy in the file. It is nil if only a change defines the policy.
	InForce policy.Summary  `json:"in_force"`
	File    *policy.Summary `json:"file"`
	// ShadowLimits are the indexes in InForce.Limits of the limits that never deny, because they are from shadow
	// policies that "all" or "first" includes.
	ShadowLimits []int `json:"shadow_limits,omitempty"`
	// Change is the change on top of the file, or nil.
	Change *ActiveChange `json:"change"`
	// Overrides are the active overrides, at most 1000. OverrideCount is their total number.
	Overrides     []Override `json:"overrides,omitempty"`
	OverrideCount int        `json:"override_count"`
}

// Override is an active override.
type Override struct {
	// Of names the limit that the override changes, in a policy with "all" or "first". It is omitted for an override of
	// the whole policy.
	Of  string `json:"of,omitempty"`
	Key string `json:"key"`
	// Limit is the active limit. File is the limit in the file. It is "" if only a change defines the limit.
	Limit  string        `json:"limit"`
	File   string        `json:"file,omitempty"`
	Change *ActiveChange `json:"change"`
}

// Policies is a page of the active policies. Total is the number of matching policies on all pages.
type Policies struct {
	Generation uint64       `json:"generation"`
	Total      int          `json:"total"`
	Policies   []PolicyView `json:"policies"`
}

// Change is a change to a policy or to the limit of one key or pattern, on top of the file.
type Change struct {
	// Policy, Key and Fields are in the form used by package policy. Key is "" for a change of the policy itself.
	Policy string          `json:"policy"`
	Key    string          `json:"key,omitempty"`
	Fields json.RawMessage `json:"fields"`
	// Author is the name that the operator wrote, and Reason is the operator's reason for the change. User is the user
	// or token that made the call, or "" if the admin listener needs none.
	Author string `json:"author"`
	User   string `json:"user,omitempty"`
	Reason string `json:"reason,omitempty"`
	// At is the time of the change. Expires is the time when the change ends. It is zero if the change lasts
	// until a clear. If servers share a store, both times are on the store's clock.
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires,omitzero"`
	// Version grows with each change of the same policy and key.
	Version int64 `json:"version"`
}

// ActiveChange is a change on top of the file, with its effect.
type ActiveChange struct {
	Change

	// Before describes the policy or the key before the change was made or, in a list, as defined in the file. After
	// describes its current form. An example is "100/s burst 200".
	Before string `json:"before"`
	After  string `json:"after"`
	// Ignored says, in a list, why the change does not fit the file. Such a change has no effect until it fits again.
	Ignored string `json:"ignored,omitempty"`
}

// Changes are all changes on top of the file.
type Changes struct {
	Changes []ActiveChange `json:"changes"`
}

// ChangeName identifies a change that an operator makes or ends, and names the operator.
type ChangeName struct {
	Policy string `json:"policy"`
	// Key is nil for a change to the policy itself.
	Key    *string `json:"key,omitempty"`
	Author string  `json:"author,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// NewChange is a change made by an operator.
type NewChange struct {
	ChangeName

	Fields  json.RawMessage `json:"fields,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`
	// For is the duration of the change, such as 30m. It can be set instead of Expires.
	For string `json:"for,omitempty"`
}

// Trial is the effect of a change: the policies that would differ.
type Trial struct {
	Policies []Difference `json:"policies"`
}

// Difference is a policy before and after a change; Before is nil for a new policy.
type Difference struct {
	Name   string          `json:"name"`
	Before *policy.Summary `json:"before"`
	After  policy.Summary  `json:"after"`
}

// Shadow compares the decisions of a policy with the decisions that its shadow would make. Newly denied requests were
// allowed, and the shadow would deny them. Unknown counts requests that could not be compared, because the store was
// unavailable.
type Shadow struct {
	Policy string `json:"policy"`
	// Limits contains the deciding limits. It is empty if the policy itself is the shadow.
	Limits []string `json:"limits"`
	Shadow []string `json:"shadow"`
	// Since is the time when these limits became active. The counts start at that time.
	Since time.Time `json:"since"`

	BothAllowed  uint64 `json:"both_allowed"`
	BothDenied   uint64 `json:"both_denied"`
	NewlyDenied  uint64 `json:"newly_denied"`
	NewlyAllowed uint64 `json:"newly_allowed"`
	Unknown      uint64 `json:"unknown"`
}

// Shadows contains the counts for all shadows.
type Shadows struct {
	Shadows []Shadow `json:"shadows"`
}
