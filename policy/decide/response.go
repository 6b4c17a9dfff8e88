package decide

import (
	"strings"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
)

// Response is the response to a Request. Keys are valid until [Batch.End].
type Response struct {
	// Answer is the store's answer. Err is the reason why the request was not decided: a [*NoPolicyError], the error
	// passed to [Batch.Refuse], or an error of headgate.Policy. Found and TTL are for OpReset and OpExpiry, also for
	// OpRelease and OpSettle: see [engine.Kind].
	engine.Answer
	// Listed is set if the request has a list of items. The charges then say which items they cover.
	Listed bool
	// Policy is the name of the policy whose limit is binding, or "" for inline limits. Unit is its unit, if it names
	// one.
	Policy, Unit string
	// Requested is the policy that the request names. For a route, it is the policy with the binding limit. It is nil
	// for inline limits.
	Requested *policy.Policy
	// Paid names the limit that was charged under a policy with "first", in the same form as in overrides: a policy,
	// or one limit of a policy, such as calls/1. It is "" if the request was denied, or if it charged no policy with
	// "first".
	Paid string
	// Cost is the cost of the request. For several items, it is the highest cost.
	Cost int64
	// Shadows are the shadows' answers, if the request set Shadowed.
	Shadows []ShadowAnswer
	// Key is the key or hash that the binding limit counted, if the request has a list.
	Key string
	// Reservation is for OpReserve: the text for settling the reservation. SettleWithin is the time limit for settling
	// it, or 0 if there is no term.
	Reservation  string
	SettleWithin time.Duration
	// Charged is set if the request asked for it and was charged. It can correct the charges once, including those on
	// shadows.
	Charged *core.Charged
	// Permits contains the permits of a request with Holds. If it is not nil, the caller must release them, even if the
	// request was denied, because shadows may hold permits.
	Permits *core.Permits
	// Outcome reports how the allowed request ended, for limits with adaptive rates. It is nil if there are no such
	// limits.
	Outcome func(failed bool, retryAfter time.Duration)
	// ID and Lease are for OpAcquire and OpRenew: the holder's id, and how long the permit lasts unless renewed.
	ID    string
	Lease time.Duration

	// The charges that the standings describe, in their order. A policy with "first" lists only the choice that was
	// charged. There are none if nothing decided: in an outage, or if all limits are shadows.
	charges
}

// Bound returns the charge of the binding limit, or nil if nothing decided.
func (r *Response) Bound() *policy.Charge {
	if r.count == 0 {
		return nil
	}
	return r.Charge(r.Binding)
}

// Limit returns the binding limit. It is the zero limit if nothing decided.
func (r *Response) Limit() engine.Limit {
	if c := r.Bound(); c != nil {
		return c.Limit
	}
	return engine.Limit{}
}

// Override reports whether the binding limit comes from an override.
func (r *Response) Override() bool {
	c := r.Bound()
	return c != nil && c.Override
}

// Unlimited reports whether no limit applies. Limit and Remaining of the binding standing then have no meaning.
func (r *Response) Unlimited() bool { return r.Binds().Unlimited }

// CountedBy describes the key of the binding limit, such as "header X-API-Key". It is "" for requests that match no
// route, and for routes with one charge.
func (r *Request) CountedBy(answer *Response) string {
	c := answer.Bound()
	if r.Route == nil || c == nil || !r.listed() {
		return ""
	}
	return strings.Join(policy.SummarizeCharge(&r.Route.Route.Charges[c.FirstItem()]).Key, ", ")
}

// ShadowAnswer is the answer of a shadow.
type ShadowAnswer struct {
	engine.Answer

	Item  int // the index of its item, or 0 if the request has no list
	Limit engine.Limit
	Cost  int64
}

// NoPolicyError is the error for a request whose policy is not in the file. It matches [engine.ErrInvalid].
type NoPolicyError struct {
	Name     string
	policies *policy.Set
}

// NoPolicy returns the [*NoPolicyError] for a name.
func NoPolicy(policies *policy.Set, name string) error {
	return &NoPolicyError{Name: name, policies: policies}
}

// Error suggests the policy with the most similar name.
func (e *NoPolicyError) Error() string { return e.policies.Unknown(e.Name).Error() }

// Unwrap returns an [*engine.InputError] for the field policy.
func (e *NoPolicyError) Unwrap() error { return e.policies.Unknown(e.Name) }
