package topkeys

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/headgate/headgate/engine"
)

// KeyJSON is a key as the API shows it: as text, or as base64 if it is not valid UTF-8.
type KeyJSON struct {
	Key       string `json:"key,omitempty"`
	KeyBase64 string `json:"key_base64,omitempty"`
}

// NewKeyJSON returns the fields of a key.
func NewKeyJSON(key string) KeyJSON {
	if utf8.ValidString(key) {
		return KeyJSON{Key: key}
	}
	return KeyJSON{KeyBase64: base64.StdEncoding.EncodeToString([]byte(key))}
}

// FieldError is the error of a field of a body.
type FieldError struct{ Field, Detail string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

// Read returns the key of a request. The error is a [*FieldError].
func (k *KeyJSON) Read() (string, error) {
	key := k.Key
	if k.KeyBase64 != "" {
		if key != "" {
			return "", &FieldError{"key_base64", "beside key; accepted: one of them"}
		}
		data, err := base64.StdEncoding.DecodeString(k.KeyBase64)
		if err != nil {
			return "", &FieldError{"key_base64", "not base64"}
		}
		key = string(data)
	}
	if key == "" || len(key) > engine.MaxKeyBytes {
		return "", &FieldError{"key", strconv.Itoa(len(key)) + " bytes; accepted: 1 to 1024"}
	}
	return key, nil
}

// CountJSON is a key with its count.
type CountJSON struct {
	Policy string `json:"policy"`
	KeyJSON

	// Count is an estimate: the key was counted at least Least and at most Most times.
	Count int64 `json:"count"`
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
	// Rate is Count for each second of the span.
	Rate float64 `json:"per_second"`
	// Cut is true if the key is longer than shown.
	Cut bool `json:"cut"`
}

// JSON returns a count of a report that covers a span of time.
func (c *Count) JSON(span time.Duration) CountJSON {
	return CountJSON{
		Policy: c.Policy, KeyJSON: NewKeyJSON(c.Key), Count: c.Count, Least: c.Least, Most: c.Most, Cut: c.Cut,
		Rate: float64(c.Count) / max(span.Seconds(), 1),
	}
}

// ReportJSON is the keys with the highest counts.
type ReportJSON struct {
	By string `json:"by"`
	// Span is the time that was counted, in seconds.
	Span float64 `json:"span_seconds"`
	// Sampled is true if only a share of the events was counted.
	Sampled bool        `json:"sampled"`
	Keys    []CountJSON `json:"keys"`
}

// JSON returns a report; by is the word for what was counted.
func (r *Report) JSON(by string) ReportJSON {
	answer := ReportJSON{By: by, Span: r.Span.Seconds(), Sampled: r.Sampled, Keys: []CountJSON{}}
	for i := range r.Top {
		answer.Keys = append(answer.Keys, r.Top[i].JSON(r.Span))
	}
	return answer
}

// EventJSON is one decision on a request of a key.
type EventJSON struct {
	Policy string    `json:"policy"`
	At     time.Time `json:"at"`
	// Outcome is allowed, denied, or failed: the decision is not known, or the request was
	// invalid.
	Outcome string `json:"outcome"`
	Mode    string `json:"mode,omitempty"`
	Cost    int64  `json:"cost"`
	// Limit and Remaining are those of the binding limit.
	Limit     int64 `json:"limit"`
	Remaining int64 `json:"remaining"`
	// RetryAfter is in ms, rounded up; absent if the request was not denied, or can never
	// pass.
	RetryAfter *int64 `json:"retry_after_ms,omitempty"`
	FrontEnd   string `json:"frontend"`
	// Counts is how many requests this one stands for: more than 1 if they were sampled.
	Counts int64 `json:"counts"`
}

// JSON returns an event of a policy.
func (e *Event) JSON(policy string) EventJSON {
	d := EventJSON{
		Policy: policy, At: e.At.UTC(), Outcome: "denied", Mode: e.Mode.String(), Cost: e.Cost, Limit: e.Limit, Remaining: e.Remaining,
		FrontEnd: e.From, Counts: e.Counts,
	}
	switch {
	case e.Failed:
		d.Outcome, d.Mode = "failed", ""
	case e.Allowed:
		d.Outcome = "allowed"
	case e.RetryAfter != engine.Never:
		retry := int64((e.RetryAfter + time.Millisecond - 1) / time.Millisecond)
		d.RetryAfter = &retry
	}
	return d
}
