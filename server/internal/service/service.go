// Package service decides the requests of every front end with package decide, and adds the server's features: users
// and their rights, deadlines, signed reservations, watchers and observers. It is independent of wire formats.
//
//	service.go   a batch of requests → the store → responses
//	errors.go    the classes of errors
//	permit.go    the rights of a front end and its user
//	observe.go   observers of calls
//	sign.go      reservations as signed text
//	opened.go    each user's part of the room for reservations
//	policies.go  the active policies, which can be replaced while requests are decided
//	ready.go     readiness, for load balancers
//	refused.go   counts of requests that are refused before a decision
package service

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/internal/users"
)

// Config configures a service.
type Config struct {
	// Limiter makes the decisions.
	Limiter *core.Limiter
	// Policies holds the policies until SetPolicies replaces them. It can be nil.
	Policies *policy.Set
	// Failure is the failure mode of inline limits. Policies have their own failure modes.
	Failure policy.Failure
	// Users restricts calls to the rights of the users in their contexts. It must be set if any listener requires
	// users. Clients of listeners without users may request decisions.
	Users bool
	// NoInline rejects requests with inline limits.
	NoInline bool
	// AllowWrites lets clients give units back and reset keys. If it is not set, such requests get ErrWritesOff,
	// because a client that can reset its own key has no limit. The admin listener can always do both.
	AllowWrites bool
	// HashKeys holds the secrets for hashing keys before they reach the store and the observer. It is nil if keys are
	// not hashed. Overrides use the unhashed key.
	HashKeys *keyhash.File
	// Cause returns the reason why decisions are made without the store, for the watcher. It returns nil if the store
	// answers. If Cause is nil, the service reports every decision without the store as [engine.ErrStoreUnavailable].
	Cause func() error
	// Watcher is notified when the store fails and when it answers again. It can be nil.
	Watcher Watcher
	// Observer observes the decisions. It can be nil.
	Observer Observer
	// CheckStore makes readiness depend on the store if Failure, or the failure mode of any policy, is deny. If it is
	// not set, only Drain and Refused end readiness.
	CheckStore bool
	// Refused returns the store's error if it has answered, but has decided nothing so far. The service is then not
	// ready. It can be nil.
	Refused func() error
	// Secret returns the secret for signing reservations, which is shared by all servers on one store. If Secret is
	// nil, the service uses a secret of its own.
	Secret func(ctx context.Context) ([]byte, error)
	// Untrusted is called with a caller's address when the caller describes another request for the routes, but is not
	// a trusted proxy. It can be nil.
	Untrusted func(caller string)
	// Origins are the origins whose pages can read the denials of authorize.
	Origins Origins
	// Keys is how many keys the store has room for. 0 means that it does not bound them.
	Keys int64
	// Deadline bounds each call to the store. If the caller's context leaves less time, the bound is three quarters
	// of the remaining time. 0 means no bound.
	Deadline time.Duration
}

// Watcher observes the store. Its methods must be safe for concurrent use and must return quickly, because clients
// wait for them.
type Watcher interface {
	// Failed is called for each operation that the store failed to decide, even if the failure mode or this process's
	// share answers the request.
	Failed(ctx context.Context, err error)
	// Away reports whether the store has failed and has not answered since.
	Away() bool
	// Answered is called when the store answers a call that began while Away was true.
	Answered()
}

// Service decides batches of requests. It is safe for concurrent use.
type Service struct {
	config    Config
	rules     decide.Rules
	own       []byte // this service's own secret for signing reservations
	policies  atomic.Pointer[inForce]
	readiness readiness
	draining  atomic.Bool
	refusals  refusals
	opened    opened
}

// New returns a service.
func New(c Config) *Service {
	own := []byte(rand.Text())
	if c.Secret == nil {
		c.Secret = func(context.Context) ([]byte, error) { return own, nil }
	}
	s := &Service{config: c, own: own, rules: decide.Rules{Limiter: c.Limiter, Failure: c.Failure, HashKeys: c.HashKeys}}
	s.opened = newOpened(c.Keys)
	s.policies.Store(&inForce{needsStore: c.needsStore(nil)})
	if c.Policies != nil {
		s.SetPolicies(c.Policies, nil)
	}
	return s
}

// RefuseUntrusted counts a call by a proxy that is not trusted, and calls [Config.Untrusted], if it is set.
func (s *Service) RefuseUntrusted(from FrontEnd, caller string) {
	s.Refused(from, Untrusted)
	if s.config.Untrusted != nil {
		s.config.Untrusted(caller)
	}
}

// For returns a function that calls Do for one front end.
func (s *Service) For(from FrontEnd) func(context.Context, []decide.Request, []decide.Response) {
	return func(ctx context.Context, requests []decide.Request, responses []decide.Response) {
		s.Do(ctx, from, requests, responses)
	}
}

// Do decides the requests of a front end in order and fills responses, which must have the same length. It retains
// neither slice. Keys may share the memory of a buffer that the caller reuses after Do returns.
func (s *Service) Do(ctx context.Context, from FrontEnd, requests []decide.Request, responses []decide.Response) {
	s.DoWithin(ctx, s.config.Deadline, from, requests, responses)
}

// DoWithin is like Do, with a deadline that replaces [Config.Deadline]. It bounds the call to the store. If the
// caller's context leaves less time, the bound is three quarters of the remaining time. 0 means no bound.
func (s *Service) DoWithin(ctx context.Context, deadline time.Duration, from FrontEnd, requests []decide.Request, responses []decide.Response) {
	var began time.Time
	if s.config.Observer != nil {
		began = time.Now()
	}
	caller := ctx
	seal := s.seal(ctx, requests)
	ctx, cancel := bounded(ctx, deadline)
	defer cancel()
	set := s.policies.Load().set // the same policies for all requests of a call
	b := s.rules.Begin(set, len(requests), seal)
	defer b.End()
	user, guarded, reserves := s.add(ctx, b, set, from, requests)
	defer s.opened.done(user, reserves)
	s.decide(ctx, b.Ops, b.Room())
	for i := range requests {
		b.Answer(i, &responses[i])
		if responses[i].Err != nil {
			responses[i].Err = classify(responses[i].Err)
		}
		if guarded {
			s.opened.observe(user, &requests[i], &responses[i])
		}
	}
	if s.config.Observer != nil {
		s.observe(Observed{
			Context: caller, FrontEnd: from, Requests: requests, Responses: responses,
			Shadows: b.Shadows(responses), counted: b.Counted(), Began: began,
		})
	}
}

// add adds the permitted requests to the batch, and refuses the other requests. It returns the call's user, whether the
// call came through a listener with users, and the reserves that the user has begun.
func (s *Service) add(ctx context.Context, b *decide.Batch, set *policy.Set, from FrontEnd, requests []decide.Request) (user *users.User, guarded bool, reserves begun) {
	if s.config.Users {
		user, guarded = users.From(ctx)
	}
	for i := range requests {
		r := &requests[i]
		if r.Kind == engine.OpReserve {
			r.ID = reservationID(user, guarded)
		}
		if guarded || s.config.NoInline || r.Kind == engine.OpGive || r.Kind == engine.OpReset {
			err := s.permit(user, guarded, from, r)
			if err == nil && guarded && r.Kind != engine.OpReserve && !owns(user, r.ID) {
				err = errOwner
			}
			if err == nil && guarded && r.Kind == engine.OpReserve {
				err = s.opened.begin(user, termed(set, r), &reserves)
			}
			if err != nil {
				b.Refuse(r, &Error{Code: Forbidden, Err: err})
				continue
			}
		}
		b.Add(r)
	}
	return user, guarded, reserves
}

// termed reports whether a reserve has a policy with a term.
func termed(set *policy.Set, r *decide.Request) bool {
	has := func(name string) bool {
		p, ok := set.Get(name)
		return ok && p.ShortestTerm() != nil
	}
	return has(r.Policy) || slices.ContainsFunc(r.Items, func(i decide.Item) bool { return has(i.Policy) })
}

// seal returns the signer for a call's reservations. It returns nil if the call has none.
func (s *Service) seal(ctx context.Context, requests []decide.Request) decide.Seal {
	for i := range requests {
		if kind := requests[i].Kind; kind == engine.OpReserve || kind == engine.OpSettle || requests[i].Reservation != "" {
			own, end := bounded(ctx, s.config.Deadline) // reading the secret does not reduce the time for the decision
			defer end()
			return s.signer(own)
		}
	}
	return nil
}

// bounded returns the context for a call to the store. It ends after left or, if this is sooner, after three
// quarters of the time until ctx's deadline. If left is 0 or less, bounded returns ctx.
func bounded(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if left <= 0 {
		return ctx, func() {}
	}
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)*3/4)
	}
	return context.WithTimeout(ctx, left)
}

// decide decides the operations, and notifies the watcher. An answer to a call that began before an outage does not
// end the outage.
func (s *Service) decide(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	watcher := s.config.Watcher
	away := watcher != nil && watcher.Away()
	ended := ctx.Err() != nil // the caller had no time left, so this is not a failure of the store
	decide.Do(ctx, s.config.Limiter, ops, results)
	if watcher == nil {
		return
	}
	answered, failed := false, false
	for i := range results {
		switch err := results[i].Err; {
		case err == nil && results[i].Promise.Mode == engine.Fallback:
			if cause := s.cause(); cause != nil {
				failed = true
				watcher.Failed(ctx, cause)
			} else { // the store answers, but it has lost data
				answered = answered || away
			}
		case err == nil:
			answered = answered || away && fromStore(&ops[i], &results[i])
		case !ended && storeFailed(err):
			failed = true
			watcher.Failed(ctx, err)
		}
	}
	if answered && !failed {
		watcher.Answered()
	}
}

// Undo gives back a request's charge, even if the caller's context has ended. The deadline for the call to the store is
// [Config.Deadline], but at most a second.
func (s *Service) Undo(ctx context.Context, charged *core.Charged) error {
	ctx, cancel := s.undoing(ctx)
	defer cancel()
	return charged.Settle(ctx, 0)
}

// Release gives back a request's permits. Its time is bounded like Undo's.
func (s *Service) Release(ctx context.Context, held *core.Permits) error {
	ctx, cancel := s.undoing(ctx)
	defer cancel()
	return held.Release(ctx)
}

func (s *Service) undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	within := time.Second
	if s.config.Deadline > 0 {
		within = min(within, s.config.Deadline)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), within)
}

// cause returns the reason why a decision was made without the store. It returns nil if the store answers, but is not
// trusted yet because it has lost data.
func (s *Service) cause() error {
	if s.config.Cause == nil {
		return engine.ErrStoreUnavailable
	}
	return s.config.Cause()
}

// storeFailed reports whether an error comes from the store, and not from an invalid request, a client that closed
// its connection, or a stopping server.
func storeFailed(err error) bool {
	return classify(err).Code == Unavailable && !errors.Is(err, context.Canceled) && !errors.Is(err, engine.ErrClosed)
}

// fromStore reports whether a result comes from the store itself, and not from prefetched units or a limit without
// state.
func fromStore(op *engine.Op, r *engine.Answer) bool {
	if mode := r.Promise.Mode; mode != engine.Exact && mode != engine.Split {
		return false
	}
	for i := range op.Charges {
		if !op.Charges[i].Limit.Algorithm().Constant() {
			return true
		}
	}
	return false
}
