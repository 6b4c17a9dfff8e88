package model

import "math/rand/v2"

// Client is a source of requests. If Rate is set, the client is open: requests arrive as a Poisson process, regardless
// of how many are in progress. Otherwise it is closed: each of its Users sends a request, waits until it ends, thinks,
// and sends the next request.
type Client struct {
	// Tenant is the index of the client's tenant. Calls are counted by tenant.
	Tenant int
	// Rate is in requests per second.
	Rate  Course
	Users int
	// Think is the mean thinking time in µs. Thinking times are exponentially distributed.
	Think float64
	// Deadline is how long the client waits for the response to an attempt, in µs.
	Deadline int64
	Retry    Retry
}

// Retry configures how the client behaves if an attempt is denied or gets no response in time.
type Retry struct {
	// Max is the maximum number of attempts after the first one.
	Max int
	// Base is the pause before the second attempt, in µs. The pause doubles with each further attempt. If Base is 0,
	// there is no pause.
	Base int64
	// Jitter makes each pause random, uniformly between 0 and its full length.
	Jitter bool
	// Obeys makes each pause at least as long as the denial's Retry-After.
	Obeys bool
}

// longestPause is the maximum length of a doubled pause in µs.
const longestPause = 30_000_000

// pause returns the pause before an attempt, in µs. The parameter tries is the number of earlier attempts, at least 1,
// and after is the denial's Retry-After in µs, or 0.
func (r *Retry) pause(tries int, after int64, random *rand.Rand) int64 {
	pause := r.Base
	for i := 1; i < tries && pause < longestPause; i++ {
		pause *= 2
	}
	pause = min(pause, longestPause)
	if r.Jitter && pause > 0 {
		pause = random.Int64N(pause + 1)
	}
	if r.Obeys {
		pause = max(pause, after)
	}
	return pause
}
