package wire

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// retryWithin is the longest Retry-After of a 503. Each response contains a random value between 1 s and retryWithin, so
// that clients do not all retry at the same moment.
const retryWithin = 4 * time.Second

// overloadWait returns the Retry-After of a 503: a random time between 1 s and 4 s.
func overloadWait() time.Duration {
	return time.Second + rand.N(retryWithin-time.Second) //nolint:gosec // no secret
}

// Overloaded reports whether a status means that the server is overloaded: 503 or 504.
func Overloaded(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}
