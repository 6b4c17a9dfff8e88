// Package filelimit decides the requests of a Go program with the policies and routes of a file.
package filelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/keyhash"
)

// Limiter decides requests with the policies and routes of a file. It is safe for concurrent use.
//
// It answers like a server with the same file, including failure modes and shadows, and shares counters with servers
// and programs that use the same store.
type Limiter struct {
	rules  decide.Rules
	config atomic.Pointer[policy.Config]
}

// Option changes the limiter that [New] returns.
type Option func(*Limiter)

// WithHashKeys counts keys under their hashes, like a server with the same --hash-keys-file. Overrides match the
// unhashed key.
func WithHashKeys(secrets *keyhash.File) Option {
	return func(l *Limiter) { l.rules.HashKeys = secrets }
}

// WithFailure sets the failure mode of requests with inline limits. The default is deny.
func WithFailure(f policy.Failure) Option {
	return func(l *Limiter) {
		if known, _ := policy.ParseFailure(f.String()); known != f {
			panic(fmt.Sprintf("filelimit: WithFailure(%d); accepted: policy.Deny, policy.Local, policy.Allow", f))
		}
		l.rules.Failure = f
	}
}

// New returns a limiter that applies a policies file, which [policy.Load] reads: a few lines of YAML such as those in the
// documentation of package policy. The caller closes the headgate.Limiter. New panics if config or an option is nil or
// invalid.
//
// The default failure mode, local, needs the fallback layer: set Fallback in the options of open.URL. If there is no
// fallback layer, local acts like deny: requests return errors while the store is unavailable.
func New(config *policy.Config, limiter *headgate.Limiter, options ...Option) *Limiter {
	l := &Limiter{rules: decide.Rules{Limiter: limiter.Core()}}
	for _, option := range options {
		if option == nil {
			panic("filelimit: an option is nil; accepted: the result of WithFailure or WithHashKeys")
		}
		option(l)
	}
	l.Replace(config)
	return l
}

func (l *Limiter) made() bool { return l != nil && l.rules.Limiter != nil }

// errNotMade is the error of a limiter that New did not make. It is no [*engine.InputError], for which middleware would
// blame the client.
var errNotMade = fmt.Errorf("filelimit: limiter is not set; accepted: the result of filelimit.New: %w", engine.ErrInvalid)

// unusable returns why requests cannot be decided, if the program made a mistake. It is no [*engine.InputError], for the
// same reason.
func (l *Limiter) unusable() error {
	if !l.made() {
		return errNotMade
	}
	err := l.rules.Limiter.Err()
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		return fmt.Errorf("filelimit: %v: %w", input, engine.ErrInvalid)
	}
	return err
}

// errNoRequest is the error for a request that no server received.
var errNoRequest = fmt.Errorf("filelimit: request is nil or has no URL; accepted: a server's: %w", engine.ErrInvalid)

// errNoRoutes is the error for each request if the file has no routes. Otherwise every request would pass: none would
// match a route.
var errNoRoutes = fmt.Errorf("filelimit: routes are not set; accepted: a policies file with routes, or Allow with a policy and a key: %w", engine.ErrInvalid)

// Replace makes a changed policies file active. Requests that are being decided keep the previous file. Counters
// continue, as when a server reloads its file: if the new file has a limit with the same algorithm and name as an old
// one, the units that a key has spent on the old limit count against the new one. [policy.Reader.Reload] rereads a
// file. It panics if config is nil, and the previous file then stays active.
func (l *Limiter) Replace(config *policy.Config) {
	if config == nil {
		panic("filelimit: config is nil; accepted: the result of policy.Load or policy.Parse, if it returned no error")
	}
	l.config.Store(config)
	l.rules.WatchTerms(config.Policies)
}

// Allow charges the key one request at the policy's cost: one unit, unless the file sets another cost. A denial is a
// Decision, not an error. Allow returns the same errors as [headgate.Policy], and a [*decide.NoPolicyError] for an unknown
// policy. If the decision is not known and the policy's failure mode is allow, the request is allowed. Under a policy
// with a pacer, a server's clients wait for themselves: so must the caller, for Decision.Delay.
func (l *Limiter) Allow(ctx context.Context, policy, key string) (headgate.Decision, error) {
	return l.one(ctx, &decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: policy, Key: key}})
}

// AllowN charges the key n units of the policy, or none. n must not be negative.
func (l *Limiter) AllowN(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Peek returns the decision that AllowN would make, without changing anything.
func (l *Limiter) Peek(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &decide.Request{Kind: engine.OpPeek, Item: decide.Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Give returns n units that were charged but not used. It returns them to shadows too.
func (l *Limiter) Give(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &decide.Request{Kind: engine.OpGive, Item: decide.Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Reset clears the units that the key has spent under the policy and its shadows, and reports whether there were any.
func (l *Limiter) Reset(ctx context.Context, policy, key string) (found bool, err error) {
	l.do(ctx, &decide.Request{Kind: engine.OpReset, Item: decide.Item{Policy: policy, Key: key}}, func(response *decide.Response) {
		found, err = response.Found, response.Err
	})
	return found, err
}

func (l *Limiter) one(ctx context.Context, r *decide.Request) (d headgate.Decision, err error) {
	l.do(ctx, r, func(response *decide.Response) { d, err = Decision(response), response.Err })
	return d, err
}

// do decides a request, and passes its response to read, during which it is valid.
func (l *Limiter) do(ctx context.Context, r *decide.Request, read func(*decide.Response)) {
	if !l.made() {
		read(&decide.Response{Answer: engine.Answer{Err: errNotMade}})
		return
	}
	policies := l.config.Load().Policies
	b := l.rules.Begin(policies, 1, nil)
	defer b.End()
	if r.Policy == "" && r.Route == nil {
		b.Refuse(r, decide.NoPolicy(policies, ""))
	} else {
		b.Add(r)
	}
	b.Do(ctx)
	response := responses.Get().(*decide.Response)
	b.Answer(0, response)
	read(response)
	*response = decide.Response{}
	responses.Put(response)
}

var responses = sync.Pool{New: func() any { return new(decide.Response) }}

// Do decides requests in order, with one call to the store for every [engine.MaxOps] operations, and fills in
// responses, which stay valid. The lengths of responses and requests must be equal.
func (l *Limiter) Do(ctx context.Context, requests []decide.Request, responses []decide.Response) {
	if !l.made() {
		for i := range responses {
			responses[i] = decide.Response{Answer: engine.Answer{Err: errNotMade}}
		}
		return
	}
	b := l.rules.Begin(l.config.Load().Policies, len(requests), nil)
	defer b.End()
	for i := range requests {
		b.Add(&requests[i])
	}
	b.Do(ctx)
	for i := range requests {
		b.Answer(i, &responses[i])
		detach(&responses[i])
	}
}

// Decision returns the decision in a response of [Limiter.Do].
func Decision(r *decide.Response) (d headgate.Decision) {
	if r == nil || r.Err != nil {
		return d
	}
	if r.Count() == 0 {
		d = headgate.Decision{
			Allowed: r.Allowed, Full: r.Full, Unlimited: r.Unlimited(), Granted: r.Granted, RetryAfter: r.Binds().RetryAfter, Promise: r.Promise,
		}
		if r.AtMicros != 0 {
			d.At = r.At()
		}
	} else {
		d = headgate.DecisionOf(&r.Answer, func(i int) engine.Limit { return r.Charge(i).Limit })
	}
	d.Binding.Policy, d.Paid = r.Policy, r.Paid
	return d
}

// detach makes the response independent of the batch.
func detach(r *decide.Response) {
	r.Key = strings.Clone(r.Key)
	for i := range r.Count() {
		r.Charge(i).Key = strings.Clone(r.Charge(i).Key)
	}
}
