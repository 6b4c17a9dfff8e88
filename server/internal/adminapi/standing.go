package adminapi

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// Explanation is the state of a key under a policy.
type Explanation struct {
	Policy string `json:"policy"`
	// Combined is true if the policy is defined with "all" or "first". An override of the whole policy can then only be
	// deny or unlimited.
	Combined bool `json:"combined,omitempty"`
	KeyFields

	// Counted is the hash that the key is counted under. It is omitted if keys are not hashed.
	Counted string `json:"counted_as,omitempty"`
	// OldSecret is true if Counted is the hash under the second secret. That hash no longer decides requests.
	OldSecret bool `json:"old_secret,omitempty"`
	// OverrideUnknown is true if only a hash is known, so that an override of the key itself or of a pattern may
	// apply.
	OverrideUnknown bool `json:"override_unknown,omitempty"`

	Cost int64 `json:"cost"`
	// Allowed reports whether a request with this cost would be allowed now.
	Allowed bool `json:"allowed"`
	// FreesAt is the time when the request will be allowed if no other request comes, or when the change that
	// denies it ends. It is omitted if the request is allowed now or can never be allowed.
	FreesAt *time.Time `json:"frees_at,omitempty"`
	// Never is true if the request can never be allowed: the cost exceeds the capacity of the limit, and the limit was
	// not set by a change that ends.
	Never bool `json:"never,omitempty"`
	// Failure is the failure mode that determines the answer, because the store is unavailable
	// or has lost data. It is omitted otherwise.
	Failure string `json:"failure,omitempty"`
	// Generation is the generation of the policies used.
	Generation uint64     `json:"generation"`
	Limits     []Standing `json:"limits"`
}

// Explanations contains the explanations for a key.
type Explanations struct {
	Explanations []Explanation `json:"explanations"`
	// StoreAway is the class of the error that makes the store unavailable, such as out_of_memory: the failure modes
	// decide requests, although the store may still answer an explanation. It is omitted while the store is available.
	StoreAway string `json:"store_away,omitempty"`
	// OverrideUnknown is true if it is true for one of the policies. If no policy was requested, this includes policies
	// without an explanation.
	OverrideUnknown bool `json:"override_unknown,omitempty"`
	// Open are the open reservations that charged the key, at most 100 for each of its hashes: see settle_within of
	// policies.
	Open []Open `json:"open,omitempty"`
}

// MaxOpen is the maximum number of open reservations in an explanation. With hashed keys, it is the maximum for each
// hash.
const MaxOpen = 100

// Open is a reservation that is not settled.
type Open struct {
	ID string `json:"id"`
	// EndsAt is the time when the reservation's term ends. Unsettled determines what happens then: keep, release
	// or estimate.
	EndsAt    time.Time     `json:"ends_at"`
	Unsettled string        `json:"unsettled"`
	Charges   []OpenCharged `json:"charges"`
}

// OpenCharged is the charge of an open reservation on one limit.
type OpenCharged struct {
	KeyFields

	// Policy is omitted for a limit without a policy.
	Policy string `json:"policy,omitempty"`
	Limit  string `json:"limit"`
	Units  int64  `json:"units"`
	// Reported is the number of units reported as used so far.
	Reported int64 `json:"reported,omitempty"`
}

// ClassStanding is the state of a key's requests in one class under a limit.
type ClassStanding struct {
	Class   string `json:"class"`
	Allowed bool   `json:"allowed"`
	// Capacity and Remaining are the units for this class. They are omitted if the limit allows everything, or if the
	// numbers are not known.
	Capacity  *int64 `json:"capacity,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
}

// Pool is the state of all keys under a limit that divides its units among them. OfKey and HeavyKeys are estimates, except
// for permits.
type Pool struct {
	// Burst is the size of the bucket, and Outstanding is the number of units that have not refilled yet. For
	// permits, Burst is the number of permits, and Outstanding is the number of held permits.
	Burst       int64 `json:"burst"`
	Outstanding int64 `json:"outstanding"`
	// OfKey estimates the number of outstanding units of this key. HeavyKeys estimates the number of keys of weight 1
	// that request more than they get. Part is the key's fair part: the key is denied while at least this many of its
	// units are outstanding. The limit is fair among at most Burst − 1 heavy keys. For permits, OfKey is
	// the number of permits that the key holds, Part is the number that it can hold now, and HeavyKeys is the square of
	// Outstanding divided by the sum of the squares of all keys' permits: the number of keys if all hold equally many.
	OfKey     int64 `json:"of_key"`
	Part      int64 `json:"part"`
	HeavyKeys int64 `json:"heavy_keys"`
	// Permits is true for a limit on permits.
	Permits bool `json:"permits,omitempty"`
	// Groups is true for a nested limit. OfKey and Part are then the units of the key's group, and HeavyKeys is a
	// number of groups.
	Groups bool `json:"groups,omitempty"`
}

// InForce is the current rate of an adaptive limit. Changes is the number of rate changes since the key's state was
// created.
type InForce struct {
	Rate    string `json:"rate"`
	Changes int64  `json:"changes"`
}

// InForceOf returns the current rate of an adaptive limit.
func InForceOf(s *engine.Standing, limit engine.Limit) *InForce {
	return &InForce{Rate: s.Rate(limit).String(), Changes: s.Version}
}

// Standing is the state of a key under one limit.
type Standing struct {
	// Policy is the policy that contains the limit. It differs from the explained policy if that policy includes the
	// limit with "all" or "first".
	Policy string `json:"policy"`
	// Combined is true if that policy is written with "all" or "first".
	Combined bool `json:"combined,omitempty"`
	// Target is the name of the limit in overrides, such as free/minute. It is omitted if it equals Policy.
	Target string `json:"target,omitempty"`
	Limit  string `json:"limit"`
	// Rule names the override that set this limit. It is omitted if no override set it.
	Rule string `json:"rule,omitempty"`
	// From is the source of the limit: file or change. Change is that change, or nil.
	From   string        `json:"from"`
	Change *ActiveChange `json:"change,omitempty"`
	Shadow bool          `json:"shadow"`
	// Decides is true for the limit that determines the answer.
	Decides bool `json:"decides"`
	Allowed bool `json:"allowed"`
	// Class is the class that the limit is lowered for. It is omitted if the policy has none.
	Class string `json:"class,omitempty"`
	// Classes are the classes that a request of the key can have, in order. They are omitted if the policy has none.
	Classes []ClassStanding `json:"classes,omitempty"`
	// Unit is the name of the unit, such as tokens, if the policy has one.
	Unit string `json:"unit,omitempty"`
	// Capacity and Remaining are in units. They are omitted if the limit allows everything.
	Capacity  *int64 `json:"capacity,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"`
	// RetryAfter and ResetAfter are in ms, rounded up. RetryAfter is omitted if the cost passes now or can never
	// pass.
	RetryAfter *int64     `json:"retry_after_ms,omitempty"`
	ResetAfter int64      `json:"reset_after_ms"`
	FreesAt    *time.Time `json:"frees_at,omitempty"`
	// Pool is the state of all keys together under a limit that divides its units among keys, such as fair-share. It is
	// omitted for other limits.
	Pool *Pool `json:"pool,omitempty"`
	// InForce is the current rate of a limit with an adaptive rate. It is omitted for other limits.
	InForce *InForce `json:"in_force,omitempty"`
	// Strikes is the number of strikes of a penalty that are not forgotten. It is omitted for 0.
	Strikes int64 `json:"strikes,omitempty"`
	// State is true if the store has state for the key. Without state, no units are spent.
	State bool `json:"state"`
	// StoredAs are the names of the Redis keys of that state. They are omitted in memory.
	StoredAs []string `json:"stored_as,omitempty"`
	Mode     string   `json:"mode,omitempty"`
	// Error is the reason why the standing is not known. It is omitted if the standing is known.
	Error string `json:"error,omitempty"`
}

// Set sets the fields from the answer to a peek. The argument at is the time of the peek.
func (s *Standing) Set(limit *engine.Standing, at time.Time, mode engine.Mode) {
	s.Allowed, s.Mode, s.ResetAfter = limit.RetryAfter == 0, mode.String(), format.Millis(limit.ResetAfter)
	if !limit.Unlimited {
		s.Capacity, s.Remaining = &limit.Limit, &limit.Remaining
	}
	if s.FreesAt = FreesAt(at, limit.RetryAfter); s.FreesAt != nil {
		retry := format.Millis(limit.RetryAfter)
		s.RetryAfter = &retry
	}
}

// FreesAt returns the time when a denied request would pass, rounded up to ms. The argument at is the time of the
// denial on the store's clock. FreesAt returns nil if the request passes now or can never pass.
func FreesAt(at time.Time, retryAfter time.Duration) *time.Time {
	if retryAfter == 0 || retryAfter == engine.Never {
		return nil
	}
	at = at.Add(retryAfter + time.Millisecond - time.Microsecond).UTC().Truncate(time.Millisecond)
	return &at
}
