package adminapi

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// Explanation says how a key stands under a policy.
type Explanation struct {
	Policy string `json:"policy"`
	// Combined is true if the policy is written with all or first: an override of its keys is deny or
	// unlimited.
	Combined bool `json:"combined,omitempty"`
	KeyFields

	// Counted is the hash that the key is counted under. It is omitted if keys are not hashed.
	Counted string `json:"counted_as,omitempty"`
	// OldSecret is true for the hash of the second secret: no request is decided by it.
	OldSecret bool `json:"old_secret,omitempty"`
	// OverrideUnknown is true if only a hash is known, and an override of the key itself
	// or of a pattern may apply.
	OverrideUnknown bool `json:"override_unknown,omitempty"`

	Cost int64 `json:"cost"`
	// Allowed is the answer that a take of the cost would get now.
	Allowed bool `json:"allowed"`
	// FreesAt is when it is allowed again, if no other request comes. It is omitted if it is
	// allowed, or never will be.
	FreesAt *time.Time `json:"frees_at,omitempty"`
	// Never is true if the cost is more than the limit lets through at all.
	Never bool `json:"never,omitempty"`
	// Generation is that of the policies that this was decided by.
	Generation uint64     `json:"generation"`
	Limits     []Standing `json:"limits"`
}

// Explanations are those of a key.
type Explanations struct {
	Explanations []Explanation `json:"explanations"`
	// OverrideUnknown is true if that of any policy is.
	OverrideUnknown bool `json:"override_unknown,omitempty"`
	// Open are the open reservations that charged the key, 100 at most: see settle_within of policies.
	Open []Open `json:"open,omitempty"`
}

// MaxOpen is how many open reservations an explanation has.
const MaxOpen = 100

// Open is a reservation that is not settled.
type Open struct {
	ID string `json:"id"`
	// EndsAt is when its time passes, and Unsettled what then becomes of it: keep, release or estimate.
	EndsAt    time.Time     `json:"ends_at"`
	Unsettled string        `json:"unsettled"`
	Charges   []OpenCharged `json:"charges"`
}

// OpenCharged is what an open reservation has charged to one limit.
type OpenCharged struct {
	KeyFields

	// Policy is omitted for a limit without a policy.
	Policy string `json:"policy,omitempty"`
	Limit  string `json:"limit"`
	Units  int64  `json:"units"`
	// Reported is how many units were reported as used so far.
	Reported int64 `json:"reported,omitempty"`
	// Pending is how many units it can still charge, up to its ceiling.
	Pending int64 `json:"pending,omitempty"`
}

// ClassStanding is how the requests of a key in one class stand under a limit.
type ClassStanding struct {
	Class   string `json:"class"`
	Allowed bool   `json:"allowed"`
	// Capacity and Remaining are units of this class. They are omitted if nothing limits, or if Remaining is not known.
	Capacity  *int64 `json:"capacity,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
}

// Standing is how a key stands under one limit.
type Standing struct {
	// Policy is the policy that has the limit: another one if the policy names it in all or first.
	Policy string `json:"policy"`
	// Combined is true if that policy is written with all or first.
	Combined bool `json:"combined,omitempty"`
	// Target is what an override of the limit names, such as free/minute. It is omitted if that is the policy.
	Target string `json:"target,omitempty"`
	Limit  string `json:"limit"`
	// Rule names the override that set this limit. It is omitted if none did.
	Rule string `json:"rule,omitempty"`
	// From is where the rule is from: file or change. Change is that change.
	From   string  `json:"from"`
	Change *Change `json:"change,omitempty"`
	Shadow bool    `json:"shadow"`
	// Decides is true for the limit that the answer depends on.
	Decides bool `json:"decides"`
	Allowed bool `json:"allowed"`
	// Class is the class that the limit is lowered for. It is omitted if the policy has none.
	Class string `json:"class,omitempty"`
	// Classes are the classes that a request of the key can have, in order. They are omitted if the policy has none.
	Classes []ClassStanding `json:"classes,omitempty"`
	// Unit is what a unit is, such as tokens, if the policy says so.
	Unit string `json:"unit,omitempty"`
	// Capacity and Remaining are units. They are omitted if nothing limits.
	Capacity  *int64 `json:"capacity,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
	// RetryAfter and ResetAfter are in ms, rounded up. RetryAfter is omitted if the cost
	// passes, or never will.
	RetryAfter *int64     `json:"retry_after_ms,omitempty"`
	ResetAfter int64      `json:"reset_after_ms"`
	FreesAt    *time.Time `json:"frees_at,omitempty"`
	// State is true if the store has something of the key: without that the limit is
	// untouched.
	State bool   `json:"state"`
	Mode  string `json:"mode,omitempty"`
	// Error says why the standing is not known.
	Error string `json:"error,omitempty"`
}

// Set sets what a peek at the time at says of the limit.
func (s *Standing) Set(limit *engine.LimitOutcome, at time.Time, mode engine.Mode) {
	s.Allowed, s.Mode, s.ResetAfter = limit.RetryAfter == 0, mode.String(), format.Millis(limit.ResetAfter)
	if !limit.Unlimited {
		s.Capacity, s.Remaining = &limit.Limit, &limit.Remaining
	}
	if s.FreesAt = FreesAt(at, limit.RetryAfter); s.FreesAt != nil {
		retry := format.Millis(limit.RetryAfter)
		s.RetryAfter = &retry
	}
}

// FreesAt returns when a request that was denied at a time of the store passes, rounded up to ms; nil if it
// passes now, or never will.
func FreesAt(at time.Time, retryAfter time.Duration) *time.Time {
	if retryAfter == 0 || retryAfter == engine.Never {
		return nil
	}
	at = at.Add(retryAfter + time.Millisecond - time.Microsecond).UTC().Truncate(time.Millisecond)
	return &at
}
