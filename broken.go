package headgate

import "github.com/headgate/headgate/engine"

// A nil or zero value of a type with methods acts like one with an invalid option: its methods return an error and
// charge nothing. So a program that ignores an error, or passes on a nil result, does not panic in production.

// missing returns the error for a value that the program did not set.
func missing(field, accepted string) error {
	return &engine.InputError{Field: field, Value: "nil", Accepted: accepted}
}

var errNoContext = missing("ctx", "a context, such as context.Background()")

func brokenLimiter(err error) *Limiter { return New(func(o *options) { o.refuse(err) }) }

var (
	noLimiter   = brokenLimiter(missing("limiter", "the result of New"))
	noPolicy    = brokenLimiter(missing("policy", "the result of Limiter.Policy")).PolicyOf("")
	noSemaphore = brokenLimiter(missing("semaphore", "the result of Limiter.Semaphore")).PolicyOf("")
)

func (l *Limiter) orBroken() *Limiter {
	if l == nil || l.core == nil {
		return noLimiter
	}
	return l
}

func (p *Policy) orBroken() *Policy {
	if p == nil || p.core == nil {
		return noPolicy
	}
	return p
}

func (s *Semaphore) of() *Policy {
	if s == nil || s.policy == nil {
		return noSemaphore
	}
	return s.policy
}
