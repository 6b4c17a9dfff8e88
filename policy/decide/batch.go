package decide

import (
	"context"
	"slices"
	"sync"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/keyhash"
)

// Rules are the settings for deciding requests.
type Rules struct {
	// Limiter decides the operations.
	Limiter *core.Limiter
	// Failure is the failure mode of inline limits. Policies have their own.
	Failure policy.Failure
	// HashKeys contains the secrets for hashing keys before they reach the store. It is nil if keys are not hashed.
	// Overrides match the unhashed key.
	HashKeys *keyhash.File
}

// Seal signs reservations before they are sent to a client, so that the client cannot give back units that it was not
// charged.
type Seal interface {
	// Sign returns the text of a reservation with a signature.
	Sign(text string) string
	// Open checks the signature of a client's text and returns the reservation.
	Open(signed string) (*engine.Reservation, error)
}

// Batch is a set of requests that are decided together. Call Begin first, then Add or Refuse for each request, then Do,
// then Answer for each request, and finally End. Batches are pooled, so callers must not keep strings from the batch
// after End.
type Batch struct {
	// Ops contains the operations of all requests. Results contains their answers in the same order. A caller that
	// does not call Do must decide Ops in the same way as [Do].
	Ops     []engine.Op
	Results []engine.Answer

	rules     *Rules
	policies  *policy.Set
	seal      Seal
	plans     []plan
	opCharges []engine.Charge // of the deciding operations
	opFrom    int             // where those of the request being planned begin
	besides   []beside
	gathered  []policy.Charge // of the request being planned
	beaten    []policy.Charge // of these, the larger limits on the counters of smaller ones
	shadows   []Shadow
	keys      hashKeys
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// Begin returns a batch for the given number of requests, using one version of the policies. seal can be nil if
// reservations do not leave this process.
func (r *Rules) Begin(policies *policy.Set, requests int, seal Seal) *Batch {
	b := batches.Get().(*Batch)
	b.rules, b.policies, b.seal = r, policies, seal
	if r.HashKeys != nil {
		b.keys.secrets = r.HashKeys.Secrets()
	}
	b.opCharges = slices.Grow(b.opCharges, requests)
	return b
}

// Refuse replaces Add for a request that must not be decided. The request's response is err.
func (b *Batch) Refuse(r *Request, err error) {
	if b.keys.secrets != nil {
		b.keys.of(r)
	}
	b.plans = append(b.plans, plan{request: r, err: err, op: -1})
}

// Do decides the batch's operations.
func (b *Batch) Do(ctx context.Context) { Do(ctx, b.rules.Limiter, b.Ops, b.Room()) }

// Room returns Results, resized to the length of Ops.
func (b *Batch) Room() []engine.Answer {
	if cap(b.Results) < len(b.Ops) {
		b.Results = make([]engine.Answer, len(b.Ops))
	}
	b.Results = b.Results[:len(b.Ops)]
	return b.Results
}

// Do decides operations, with at most engine.MaxOps in one call to the store. The lengths of results and ops must be
// equal.
func Do(ctx context.Context, l *core.Limiter, ops []engine.Op, results []engine.Answer) {
	for from := 0; from < len(ops); from += engine.MaxOps {
		to := min(from+engine.MaxOps, len(ops))
		l.Do(ctx, ops[from:to], results[from:to])
	}
}

// Counted returns, for each request, the hash that it is counted under, or "" for a request with items. The slice is
// empty if keys are not hashed. It is valid until End.
func (b *Batch) Counted() []string { return b.keys.counted }

// End returns the batch to the pool.
func (b *Batch) End() {
	clear(b.Ops)
	clear(b.Results)
	clear(b.gathered)
	clear(b.opCharges)
	clear(b.besides)
	clear(b.beaten)
	clear(b.plans)
	clear(b.shadows)
	if b.keys.secrets != nil {
		b.keys.free()
	}
	b.rules, b.policies, b.seal = nil, nil, nil
	b.Ops, b.Results, b.opCharges, b.gathered = b.Ops[:0], b.Results[:0], b.opCharges[:0], b.gathered[:0]
	b.besides, b.beaten, b.plans, b.shadows = b.besides[:0], b.beaten[:0], b.plans[:0], b.shadows[:0]
	batches.Put(b)
}
