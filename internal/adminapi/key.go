package adminapi

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
)

// KeyFields are a key: as text, or as base64 if it is not valid UTF-8.
type KeyFields struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 string `json:"key_base64,omitempty"`
}

// NewKey returns the fields of a key.
func NewKey(key string) KeyFields {
	if utf8.ValidString(key) {
		return KeyFields{Key: key}
	}
	return KeyFields{KeyBase64: base64.StdEncoding.EncodeToString([]byte(key))}
}

// Read returns the key of a request.
func (k *KeyFields) Read() (string, error) {
	key := k.Key
	if k.KeyBase64 != "" {
		if key != "" {
			return "", BadField("key_base64", "beside key; accepted: one of them")
		}
		data, err := base64.StdEncoding.DecodeString(k.KeyBase64)
		if err != nil {
			return "", BadField("key_base64", "not base64")
		}
		key = string(data)
	}
	if key == "" || len(key) > engine.MaxKeyBytes {
		return "", BadField("key", strconv.Itoa(len(key))+" bytes; accepted: 1 to 1024")
	}
	return key, nil
}

// KeyAndPolicy asks about a key under a policy, or under each if Policy is "".
type KeyAndPolicy struct {
	KeyFields

	Policy string `json:"policy,omitempty"`
}

// KeyAndCost is KeyAndPolicy with units; nil are those of the policy.
type KeyAndCost struct {
	KeyAndPolicy

	Cost *int64 `json:"cost,omitempty"`
}

// Read returns the key of a request.
func (k *KeyAndCost) Read() (string, error) {
	if k.Cost != nil && *k.Cost < 0 {
		return "", BadField("cost", "negative; accepted: 0 or more")
	}
	return k.KeyFields.Read()
}

// Units are units of a key that an operator gives back, or resets.
type Units struct {
	KeyAndPolicy

	Units  *int64 `json:"units,omitempty"`
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
}

// Given answers a give.
type Given struct {
	Remaining int64 `json:"remaining"`
	Unlimited bool  `json:"unlimited"`
}

// Reset answers a reset. Found is true if the store had something of the key.
type Reset struct {
	Found bool `json:"found"`
}

// Explanation says how a key stands under a policy.
type Explanation struct {
	Policy string `json:"policy"`
	// Combined is true if the policy is written with all: an override of its keys is deny or
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
}

// Standing is how a key stands under one limit.
type Standing struct {
	// Policy is the policy that has the limit: another one if the policy names it in all.
	Policy string `json:"policy"`
	// Combined is true if that policy is written with all.
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

// TopKey is a key with its count.
type TopKey struct {
	Policy string `json:"policy"`
	KeyFields

	// Count is an estimate: the key was counted at least Least and at most Most times.
	Count int64 `json:"count"`
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
	// Rate is Count for each second of the span.
	Rate float64 `json:"per_second"`
	// Cut is true if the key is longer than shown.
	Cut bool `json:"cut"`
}

// TopKeys are the keys with the highest counts.
type TopKeys struct {
	// By is what is counted, such as requests.
	By string `json:"by"`
	// Span is the time that was counted, in seconds.
	Span float64 `json:"span_seconds"`
	// Sampled is true if only a share of the events was counted.
	Sampled bool     `json:"sampled"`
	Keys    []TopKey `json:"keys"`
}

// LimitedKey is a key that was refused in the last minute, with its standing.
type LimitedKey struct {
	Refusals TopKey `json:"refusals"`
	// Explanation is omitted where the key is not known in full, or is of no policy.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// LimitedKeys are the keys that were refused most.
type LimitedKeys struct {
	Span    float64      `json:"span_seconds"`
	Sampled bool         `json:"sampled"`
	Keys    []LimitedKey `json:"keys"`
}

// Outcome is the answer to a request.
type Outcome string

// The outcomes. Failed is a decision that is not known, or an invalid request.
const (
	Allowed Outcome = "allowed"
	Denied  Outcome = "denied"
	Failed  Outcome = "failed"
)

// Decided is one decision on a request of a key.
type Decided struct {
	Policy  string    `json:"policy"`
	At      time.Time `json:"at"`
	Outcome Outcome   `json:"outcome"`
	Mode    string    `json:"mode,omitempty"`
	Cost    int64     `json:"cost"`
	// Limit and Remaining are those of the binding limit.
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	// RetryAfter is in ms, rounded up. It is omitted if the request was not denied, or can never
	// pass.
	RetryAfter *int64 `json:"retry_after_ms,omitempty"`
	FrontEnd   string `json:"frontend"`
	// Counts is the number of requests that this entry represents: more than 1 if they were sampled.
	Counts int64 `json:"counts"`
}

// Timeline is the last decisions on the requests of a key, the latest first.
type Timeline struct {
	Decisions []Decided `json:"decisions"`
}
