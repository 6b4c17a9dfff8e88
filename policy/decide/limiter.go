package decide

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/keyhash"
)

// Limiter decides requests with the policies and routes of a file. It is safe for concurrent use.
//
// It answers like a server with the same file, including failure modes and shadows, and shares counters with servers
// and programs that use the same store.
type Limiter struct {
	rules  Rules
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
func WithFailure(f policy.Failure) Option { return func(l *Limiter) { l.rules.Failure = f } }

// New returns a limiter that applies a policies file, which [policy.Load] reads: a few lines of YAML such as those in the
// documentation of package policy. The caller closes the headgate.Limiter. New panics if config or an option is nil.
//
// The default failure mode, local, needs the fallback layer: set Fallback in the options of open.URL. If there is no
// fallback layer, local acts like deny: requests return errors while the store is unavailable.
func New(config *policy.Config, limiter *headgate.Limiter, options ...Option) *Limiter {
	l := &Limiter{rules: Rules{Limiter: limiter.Core()}}
	for _, option := range options {
		if option == nil {
			panic("decide: an option is nil; accepted: the result of WithFailure or WithHashKeys")
		}
		option(l)
	}
	l.Replace(config)
	return l
}

func (l *Limiter) made() bool { return l != nil && l.config.Load() != nil }

// errNotMade is the error of a limiter that New did not make. It is no [*engine.InputError], for which middleware would
// blame the client.
var errNotMade = fmt.Errorf("decide: limiter is not set; accepted: the result of decide.New: %w", engine.ErrInvalid)

// Replace makes a changed policies file active. Requests that are being decided keep the previous file. Counters
// continue, as when a server reloads its file: if the new file has a limit with the same algorithm and name as an old
// one, the units that a key has spent on the old limit count against the new one. [policy.Reader.Reload] rereads a
// file. It panics if config is nil, and the previous file then stays active.
func (l *Limiter) Replace(config *policy.Config) {
	if config == nil {
		panic("decide: config is nil; accepted: the result of policy.Load or policy.Parse, if it returned no error")
	}
	l.config.Store(config)
	l.rules.WatchTerms(config.Policies)
}

// Allow charges the key one request at the policy's cost: one unit, unless the file sets another cost. A denial is a
// Decision, not an error. Allow returns the same errors as [headgate.Policy], and a [*NoPolicyError] for an unknown
// policy. If the decision is not known and the policy's failure mode is allow, the request is allowed. Under a policy
// with a pacer, a server's clients wait for themselves: so must the caller, for Decision.Delay.
func (l *Limiter) Allow(ctx context.Context, policy, key string) (headgate.Decision, error) {
	return l.one(ctx, &Request{Kind: engine.OpAllow, Item: Item{Policy: policy, Key: key}})
}

// AllowN charges the key n units of the policy, or none. n must not be negative.
func (l *Limiter) AllowN(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &Request{Kind: engine.OpAllow, Item: Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Peek returns the decision that AllowN would make, without changing anything.
func (l *Limiter) Peek(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &Request{Kind: engine.OpPeek, Item: Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Give returns n units that were charged but not used. It returns them to shadows too.
func (l *Limiter) Give(ctx context.Context, policy, key string, n int64) (headgate.Decision, error) {
	return l.one(ctx, &Request{Kind: engine.OpGive, Item: Item{Policy: policy, Key: key, Cost: n, HasCost: true}})
}

// Reset clears the units that the key has spent under the policy and its shadows, and reports whether there were any.
func (l *Limiter) Reset(ctx context.Context, policy, key string) (found bool, err error) {
	l.do(ctx, &Request{Kind: engine.OpReset, Item: Item{Policy: policy, Key: key}}, func(response *Response) {
		found, err = response.Found, response.Err
	})
	return found, err
}

func (l *Limiter) one(ctx context.Context, r *Request) (d headgate.Decision, err error) {
	l.do(ctx, r, func(response *Response) { d, err = response.Decision(), response.Err })
	return d, err
}

// do decides a request, and passes its response to read, during which it is valid.
func (l *Limiter) do(ctx context.Context, r *Request, read func(*Response)) {
	if !l.made() {
		read(&Response{Answer: engine.Answer{Err: errNotMade}})
		return
	}
	b := l.rules.Begin(l.config.Load().Policies, 1, nil)
	defer b.End()
	if r.Policy == "" && r.Route == nil {
		b.Refuse(r, &NoPolicyError{policies: b.policies})
	} else {
		b.Add(r)
	}
	b.Do(ctx)
	b.Answer(0, &b.only)
	read(&b.only)
	b.only = Response{}
}

// Do decides requests in order, with one call to the store for every [engine.MaxOps] operations, and fills in
// responses, which stay valid. The lengths of responses and requests must be equal.
func (l *Limiter) Do(ctx context.Context, requests []Request, responses []Response) {
	if !l.made() {
		for i := range responses {
			responses[i] = Response{Answer: engine.Answer{Err: errNotMade}}
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
		responses[i].detach()
	}
}
