package open

import (
	"context"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// The default and the maximum deadline of a call.
const (
	DefaultDeadline = 50 * time.Millisecond
	MaxDeadline     = redisurl.MaxDeadline
)

// Deadline returns the deadline in a Redis URL. It is 0 if the URL sets none, and negative if the URL states that calls
// have no deadline. The error is an [*engine.InputError] if the URL is invalid.
func Deadline(address string) (time.Duration, error) {
	if address == "" || address == Memory {
		return 0, nil
	}
	a, err := redisurl.Parse(address)
	return a.Deadline, err
}

// deadline returns the deadline for calls to Redis, from the options, the URL or the default. It returns 0 if there is
// no deadline.
func (o *Options) deadline(address string) (time.Duration, error) {
	if o.Deadline > MaxDeadline || o.Deadline > 0 && o.Deadline < time.Millisecond {
		return 0, &engine.InputError{Field: "deadline", Value: o.Deadline.String(), Accepted: "1ms to 1m; negative for none"}
	}
	within := o.Deadline
	if within == 0 {
		var err error
		if within, err = Deadline(address); err != nil {
			return 0, err
		}
	}
	if within == 0 {
		return DefaultDeadline, nil
	}
	return max(0, within), nil
}

// bounded is a store whose calls end after a time limit, or earlier with the caller's context.
type bounded struct {
	engine.Store

	within time.Duration
}

// Do decides the operations. See [engine.Store].
func (b *bounded) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= b.within {
		b.Store.Do(ctx, ops, results)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.within)
	defer cancel()
	b.Store.Do(ctx, ops, results)
}

// Unwrap returns the wrapped store.
func (b *bounded) Unwrap() engine.Store { return b.Store }
