// Package service decides the requests of every front end. It knows policies and failure
// modes, and no wire format.
//
//	request.go   requests, responses and errors
//	service.go   a batch of requests → operations → the store → responses
//	decide.go    one request → its operations; their results → one response
//	keys.go      keys that are counted under their hash
//	observe.go   what observers see of each call
//	replies.go   what clients are answered while the store is away
//	hold.go      reservations and permits
//	sign.go      reservations as signed text
//	policies.go  the policies in force, replaced while requests are decided
//	ready.go     readiness, for load balancers
package service

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/users"
)

// Inline is the name space of inline limits. CL.THROTTLE and HTTP share it, and so the
// counters.
const Inline = "inline"

// Config sets up a service.
type Config struct {
	// Limiter makes the decisions.
	Limiter *headgate.Limiter
	// Policies are the named limits until SetPolicies replaces them; nil has none.
	Policies *policy.Set
	// Failure is the failure mode of inline limits. Policies have their own.
	Failure policy.Failure
	// OpsFailure is the failure mode that the front end of DoOps applies to its results.
	// It is for the watcher alone.
	OpsFailure policy.Failure
	// Users lets the users of the calls' contexts ask for what they may, and no more. It is
	// set if any listener has users; the others' clients may take.
	Users bool
	// NoInline refuses limits that come with a request.
	NoInline bool
	// AllowWrites lets clients give units back and reset keys. Without it their requests
	// answer ErrWritesOff, because a client that can reset its own key has no limit. The
	// admin listener can do both in any case.
	AllowWrites bool
	// HashKeys are the secrets that keys are hashed with before they reach the store and
	// the observer; nil leaves keys as they are. Overrides see the key itself.
	HashKeys *keyhash.File
	// Cause returns why decisions are made without the store, for the watcher, and nil if the
	// store answers. Without Cause, such a decision says that the store is away.
	Cause func() error
	// Watcher is called when the store fails and when it answers again; nil is none.
	Watcher Watcher
	// Observer sees what was decided; nil is none.
	Observer Observer
	// CheckStore makes readiness depend on the store if Failure or the failure mode
	// of any policy is deny. Without it only Drain ends readiness.
	CheckStore bool
	// Secret returns the secret that reservations are signed with, the same for all
	// servers on one store. nil stands for one that this service alone has.
	Secret func(ctx context.Context) ([]byte, error)
	// Deadline bounds each call of the store: to the smaller of Deadline and three
	// quarters of the time that the caller's context leaves. 0 sets no bound.
	Deadline time.Duration
}

// Watcher observes the store. Its methods must be safe for concurrent use and must
// return quickly: clients wait for them.
type Watcher interface {
	// Failed is called for each operation whose decision is not known, also if the failure
	// mode allows the request.
	Failed(ctx context.Context, err error)
	// Away reports whether the store has failed and has not answered since.
	Away() bool
	// NotReplicated is called for each operation that the store has charged, and that too few
	// of its replicas have confirmed: the store itself is there.
	NotReplicated(ctx context.Context, err error)
	// Answered is called when the store answers a call that began while Away was true.
	Answered()
	// Replied is called with what clients are answered in a call in which the store
	// failed, or that began while Away was true.
	Replied(r Replies)
}

// Service decides batches of requests. It is safe for concurrent use.
type Service struct {
	config    Config
	own       []byte // a secret of this service alone
	policies  atomic.Pointer[inForce]
	readiness readiness
	draining  atomic.Bool
}

// New returns a service.
func New(c Config) *Service {
	own := []byte(rand.Text())
	if c.Secret == nil {
		c.Secret = func(context.Context) ([]byte, error) { return own, nil }
	}
	s := &Service{config: c, own: own}
	s.policies.Store(&inForce{needsStore: c.needsStore(nil)})
	if c.Policies != nil {
		s.SetPolicies(c.Policies, nil)
	}
	return s
}

// AllowWrites reports whether clients can give units back and reset keys.
func (s *Service) AllowWrites() bool { return s.config.AllowWrites }

// batch holds the slices of one call of Do. A pool keeps them for later calls.
type batch struct {
	ops     []engine.Op
	results []headgate.Result
	charges []engine.Charge
	limits  []policy.Charge // of the request that is being resolved
	plans   []plan
	shadows []Shadow // in the order of their operations
	keys    hashKeys
	signer  signer   // of reservations
	seen    Observed // what the observer is called with
	user    *users.User
	guarded bool // the call comes by a listener with users
	lacking bool // the store has charged something that too few replicas have
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) free() {
	clear(b.ops)
	clear(b.results)
	clear(b.charges)
	clear(b.limits)
	clear(b.plans)
	clear(b.shadows)
	b.seen, b.signer, b.user, b.guarded, b.lacking = Observed{}, signer{}, nil, false, false
	if b.keys.secrets != nil {
		b.keys.free()
	}
	b.ops, b.results, b.charges = b.ops[:0], b.results[:0], b.charges[:0]
	b.limits, b.plans, b.shadows = b.limits[:0], b.plans[:0], b.shadows[:0]
	batches.Put(b)
}

// For returns Do for one front end.
func (s *Service) For(from FrontEnd) func(context.Context, []Request, []Response) {
	return func(ctx context.Context, requests []Request, responses []Response) {
		s.Do(ctx, from, requests, responses)
	}
}

// Do decides the requests of a front end in order and sets responses, which has the same
// length. It keeps neither. Keys may share the memory of a buffer that the caller reuses after Do
// returns.
func (s *Service) Do(ctx context.Context, from FrontEnd, requests []Request, responses []Response) {
	var began time.Time
	if s.config.Observer != nil {
		began = time.Now()
	}
	b := batches.Get().(*batch)
	defer b.free()
	b.reserve(len(requests))
	if s.config.Users {
		b.user, b.guarded = users.From(ctx)
	}
	if s.config.HashKeys != nil {
		b.keys.secrets = s.config.HashKeys.Secrets()
	}
	policies := s.policies.Load().set // one version for all requests of a call
	caller := ctx
	for i := range requests {
		if kind := requests[i].Kind; kind == engine.OpReserve || kind == engine.OpSettle {
			own, end := s.bounded(caller) // to find the secret takes nothing of the decision's time
			b.signer = s.signer(own)
			end()
			break
		}
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	for i := range requests {
		b.plans = append(b.plans, s.resolve(b, policies, from, &requests[i]))
	}
	if cap(b.results) < len(b.ops) {
		b.results = make([]headgate.Result, len(b.ops))
	}
	b.results = b.results[:len(b.ops)]
	outage := s.decide(ctx, b.ops, b.results)
	for i := range requests {
		responses[i] = s.answer(b, &requests[i], &b.plans[i])
	}
	if b.lacking {
		s.giveUp(caller, b, requests)
	}
	if outage {
		s.config.Watcher.Replied(repliesOf(responses))
	}
	if s.config.Observer != nil {
		s.observe(b, Observed{Context: caller, FrontEnd: from, Requests: requests, Responses: responses, Began: began})
	}
}

// bounded returns the context for the call of the store.
func (s *Service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.config.Deadline <= 0 {
		return ctx, func() {}
	}
	return within(ctx, s.config.Deadline)
}

// within returns a context that ends after a time, or after three quarters of what ctx
// leaves if that is less.
func within(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)*3/4)
	}
	return context.WithTimeout(ctx, left)
}

// reserve allocates the charges of single-limit requests beforehand: operations hold
// slices of them, so they must not move while later requests are resolved. A request with
// several limits allocates its own.
func (b *batch) reserve(requests int) {
	if cap(b.charges) < requests {
		b.charges = make([]engine.Charge, 0, requests)
	}
}

// decide lets the limiter decide the operations, at most engine.MaxOps in one call, and
// reports to the watcher. An answer to a call that began before the outage does not end
// the outage. It returns true if there is a watcher, and the store failed or was away.
func (s *Service) decide(ctx context.Context, ops []engine.Op, results []headgate.Result) (outage bool) {
	watcher := s.config.Watcher
	away := watcher != nil && watcher.Away()
	ended := ctx.Err() != nil // the caller had no time left: no call of the store fails
	for from := 0; from < len(ops); from += engine.MaxOps {
		to := min(from+engine.MaxOps, len(ops))
		s.config.Limiter.Do(ctx, ops[from:to], results[from:to])
	}
	if watcher == nil {
		return false
	}
	answered, failed := false, false
	for i := range results {
		switch err := results[i].Err; {
		case err == nil && results[i].Decision.Promise.Mode == engine.Fallback:
			if cause := s.cause(); cause != nil {
				failed = true
				watcher.Failed(ctx, cause)
			}
		case err == nil:
			answered = answered || away && fromStore(&ops[i], &results[i])
		case errors.Is(err, headgate.ErrNotReplicated):
			watcher.NotReplicated(ctx, err)
		case !ended && storeFailed(err):
			failed = true
			watcher.Failed(ctx, err)
		}
	}
	if answered && !failed {
		watcher.Answered()
	}
	return away || failed
}

// cause returns why decisions are made without the store; nil if it is there, and only not
// believed yet.
func (s *Service) cause() error {
	if s.config.Cause == nil {
		return headgate.ErrStoreUnavailable
	}
	return s.config.Cause()
}

// storeFailed reports whether the store caused an error, and not an invalid request, a
// client that closed its connection, or a server that stops.
func storeFailed(err error) bool {
	return classify(err).Code == Unavailable && !errors.Is(err, context.Canceled) && !errors.Is(err, headgate.ErrClosed)
}

// fromStore reports whether a result comes from the store itself, and not from the deny
// cache, from prefetched units, or from a limit without state.
func fromStore(op *engine.Op, r *headgate.Result) bool {
	if mode := r.Decision.Promise.Mode; mode != engine.Exact && mode != engine.Split {
		return false
	}
	for i := range op.Charges {
		if !op.Charges[i].Limit.Algorithm().Constant() {
			return true
		}
	}
	return false
}
