package headgate

import "github.com/headgate/headgate/engine"

// SetMaxWaiting sets the maximum number of callers that may wait for one key. restore undoes the change.
func SetMaxWaiting(n int) (restore func()) {
	before := maxWaiting
	maxWaiting = n
	return func() { maxWaiting = before }
}

// LimitOf returns the limit of a semaphore.
func LimitOf(s *Semaphore) engine.Limit { return s.policy.limits[0] }

// MaxNames is the number of names whose limits a limiter remembers.
const MaxNames = maxNames
