package adminapi

import "time"

var (
	ListTop      = Call[None, TopKeys]{Pattern: "GET /admin/v1/keys/top"}
	ListLimited  = Call[None, LimitedKeys]{Pattern: "GET /admin/v1/keys/limited"}
	ShowTimeline = Call[KeyAndPolicy, Timeline]{Pattern: "POST /admin/v1/keys/timeline"}
)

// TopKey is a key with its count.
type TopKey struct {
	Policy string `json:"policy"`
	KeyFields

	// KeyHash distinguishes long keys with the same beginning: see [KeyHash]. It is omitted for short keys.
	KeyHash string `json:"key_hash,omitempty"`
	// Count is an estimate: the key was counted at least Least and at most Most times.
	Count int64 `json:"count"`
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
	// Rate is Count per second of the span.
	Rate float64 `json:"per_second"`
}

// TopKeys are the keys with the highest counts.
type TopKeys struct {
	// By is the kind of counted events, such as requests.
	By string `json:"by"`
	// Span is the time covered by the counts, in seconds.
	Span float64 `json:"span_seconds"`
	// Sampled is true if only a share of the events was counted.
	Sampled bool     `json:"sampled"`
	Keys    []TopKey `json:"keys"`
	// Server is omitted in a snapshot, because the snapshot itself names the server.
	Server *Server `json:"server,omitempty"`
}

// LimitedKey is a key that was denied in the last minute, with its standing.
type LimitedKey struct {
	Denials TopKey `json:"denials"`
	// Explanation is omitted if the key belongs to no policy.
	Explanation *Explanation `json:"explanation,omitempty"`
}

// LimitedKeys are the keys with the most denials.
type LimitedKeys struct {
	Span    float64      `json:"span_seconds"`
	Sampled bool         `json:"sampled"`
	Keys    []LimitedKey `json:"keys"`
	Server  *Server      `json:"server"`
}

// Outcome is the answer to a request.
type Outcome string

// The outcomes. Failed means that the decision is unknown or the request is invalid.
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
	// Limit is the capacity of the binding limit, and Remaining is the number of its units that remain.
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	// RetryAfter is in ms, rounded up. It is omitted if the request was not denied, or can never pass.
	RetryAfter *int64 `json:"retry_after_ms,omitempty"`
	FrontEnd   string `json:"frontend"`
	// Counts is the number of requests that this entry represents: more than 1 if they were sampled.
	Counts int64 `json:"counts"`
}

// Timeline contains the last decisions on the requests of a key, latest first.
type Timeline struct {
	Decisions []Decided `json:"decisions"`
}
