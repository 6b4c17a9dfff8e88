package wire

import "errors"

// ErrNoKey is the error for a request that lacks its key.
var ErrNoKey = errors.New("httplimit: " + noKey + ", such as a header")

const noKey = "the request lacks a part of its key"

// NoKeyError is an [ErrNoKey] that names the missing part of the key.
type NoKeyError struct {
	// Part names the missing or unreadable part of the key, such as "header X-API-Key".
	Part string
	// Policy is the policy whose key needs the missing part. It is "" if the request has a single key.
	Policy string
	// Unreadable is true if the request contains the part but it cannot be read, such as a token that is too long.
	Unreadable bool
	// Status is the status of the response: 400 to 499, and 400 if it is not set.
	Status int
}

// Error returns the error message.
func (e *NoKeyError) Error() string { return "httplimit: " + e.Detail() }

// Detail returns the text for clients.
func (e *NoKeyError) Detail() string {
	if e == nil {
		return noKey
	}
	detail := noKey + ": " + e.Part
	if e.Unreadable {
		detail = "a part of the request's key cannot be read: " + e.Part
	}
	if e.Policy != "" {
		detail += ", for the policy " + e.Policy
	}
	return detail
}

// Is makes every NoKeyError match [ErrNoKey].
func (e *NoKeyError) Is(target error) bool { return target == ErrNoKey }
