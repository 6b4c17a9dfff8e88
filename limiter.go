package headgate

import (
	"context"
	"strconv"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// Limiter decides whether requests may pass. It is safe for concurrent use. Every method respects the deadline of its
// context.
type Limiter struct {
	core     *core.Limiter
	observed func(ctx context.Context, r Result)
	invalid  error // the error of an invalid option
	names    names // the limits of each policy and semaphore
}

// Option is an option of [New]. If an option is invalid, every method of the limiter and of its policies and semaphores
// returns an error, as does [Policy.Err].
type Option func(*options)

type options struct {
	core.Config

	observed func(ctx context.Context, r Result)
}

// refuse records the error of an invalid option.
func (o *options) refuse(err error) {
	if o.Invalid == nil {
		o.Invalid = err
	}
}

// WithStore makes the limiter use the given store, such as one on Redis. The caller closes it after the limiter. By
// default a limiter creates its own store in memory, for a million keys. A store that is nil, or that could not be
// opened, is an invalid option: the limiter does not fall back to memory.
func WithStore(store engine.Store) Option {
	return func(o *options) {
		o.Store = store
		o.refuse(engine.CheckStore(store))
	}
}

// WithSpace puts the limiter's keys into a separate namespace, so that programs on one store do not share counters.
// Only limiters with the same namespace share a policy's counters. By default the counters of ad-hoc limits are in
// "headgate" and those for the policy NAME in "policy:NAME", as in servers. A namespace has at most 1024 bytes.
func WithSpace(space string) Option {
	return func(o *options) {
		if len(space) > engine.MaxKeyBytes {
			o.refuse(&engine.InputError{Field: "space", Value: strconv.Itoa(len(space)) + " bytes", Accepted: "at most 1024 bytes"})
		}
		o.Space = space
	}
}

// WithCore changes the configuration of the limiter's core, for servers, adapters and tests: see package core.
func WithCore(change func(*core.Config)) Option {
	return func(o *options) {
		if change == nil {
			o.refuse(missing("change", "a function; without WithCore there is none"))
			return
		}
		change(&o.Config)
	}
}

// New returns a limiter. By default it decides in the memory of this process; see [WithStore]. A program makes one and
// closes it at its end: limiters do not share their memory.
func New(with ...Option) *Limiter {
	var o options
	for _, set := range with {
		if set == nil {
			o.refuse(missing("option", "the result of WithStore, WithSpace or WithObserver"))
			continue
		}
		set(&o)
	}
	l := &Limiter{observed: o.observed, invalid: o.Invalid}
	if l.observed != nil {
		o.Observer = l.observe(o.Observer)
	}
	l.core = core.New(o.Config)
	return l
}

// Core returns what the limiter stands on. It works with the types of package engine, for servers and adapters.
func (l *Limiter) Core() *core.Limiter { return l.orBroken().core }

// Close closes the limiter: later calls return [ErrClosed]. It also closes the store if New created it. The caller
// closes a store passed with [WithStore]. Close is idempotent. If an option is invalid, it returns the option's error.
func (l *Limiter) Close() error {
	if l = l.orBroken(); l.invalid != nil {
		return l.invalid
	}
	return l.core.Close()
}
