package decide

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Inline is the namespace of limits that come with a request. All front ends share it and its counters.
const Inline = "inline"

// Request is one request to decide.
type Request struct {
	// Kind is OpAllow, OpPeek, OpGive, OpReset, OpExpiry, OpReserve, OpSettle, OpAcquire, OpRenew, OpRelease or
	// OpCount. OpCount counts hits if a single fixed window is charged. Otherwise it acts like OpAllow, or like OpPeek
	// for one unit if its cost is 0.
	Kind engine.Kind
	// Policy is the name of a policy. If it is empty, Limit or Limits is used.
	Policy string
	// Target restricts an OpReset to one limit of the policy: its name in overrides, such as api/offenders. If it is
	// empty, all limits are reset.
	Target string
	// Limit is an inline limit. If Policy is set too, it applies only if the policy is not in the file.
	Limit engine.Limit
	// Limits are several inline limits, charged all or nothing. It is nil if there is only Limit.
	Limits []engine.Limit
	// Own sets where and how an inline limit is charged. If it is nil, the namespace is Inline and the failure mode is
	// Rules.Failure.
	Own *Own
	// CountDenied makes an OpCount count hits on Limit if the policy denies everything.
	CountDenied bool
	// Items are several charges with their own keys and costs, from a client or a route. Either all of them are charged
	// or none. If Items is set, the request's own policy, limit, key and cost are ignored. Items are valid for OpAllow,
	// OpPeek and OpReserve. For OpReserve, a concurrency limit grants a permit until the reservation is settled.
	Items []Item
	// Shadowed requests [Response.Shadows].
	Shadowed bool
	// Route is the route of an HTTP request: see [Routed].
	Route *route.Match
	// If Settled is set, the response contains [Response.Charged]. If Undoable is set, the response contains it only
	// if the route refunds errors or the charge delays the request. If either field is set, layers never decide the
	// request from units that they hold.
	Settled, Undoable bool
	// If Holds is set on an OpAllow, its concurrency limits grant permits, together with the charges on the other limits,
	// and the response contains [Response.Held]. Otherwise an OpAllow of a concurrency limit is an error.
	Holds bool
	// Key is the key of the request. The request is counted under this key or its hash ([Rules.HashKeys]).
	Key string
	// Counted is the hash of Key under the second secret. It is "" if the first secret applies.
	Counted string
	// Cost is the number of units. If HasCost is false, the request costs the policy's own cost, or 1 for an inline
	// limit.
	Cost    int64
	HasCost bool
	// Class is the class of the request, for policies with classes: see [policy.Classify].
	Class string
	// Outcomes report how earlier requests of the key ended, for limits with adaptive rates; other limits ignore them.
	// They are valid for OpAllow and OpReserve.
	Outcomes *algo.Report
	// Atomic rejects items in several slots of a Cluster, because those would be decided one after another.
	Atomic bool
	// ID identifies the holder of a permit. For OpRenew and OpRelease it is the id from the acquire. For OpAcquire it
	// is the client's choice, or "" for a generated id that other clients cannot guess. For OpReserve it is the id of the
	// reservation, which other clients must not be able to guess, or "" for a generated one. For an OpAllow with Holds it
	// is the holder of the permits, or "" for a generated id.
	ID string
	// MaxDelay is the longest delay that the caller of OpReserve accepts. If it is 0, no future units are reserved,
	// because a caller that does not set MaxDelay may check only Allowed and use the units too early.
	MaxDelay time.Duration
	// Reservation is for OpSettle: the text from the reserve. Cost is then the number of units used on each limit, or
	// Used lists the units for each item. An OpRenew with a reservation renews the reservation's permits. An OpSettle
	// or OpRenew with a reservation ignores the other fields.
	Reservation string
	Used        []int64
	// Reports makes an OpSettle report the units used so far. The reservation stays open.
	Reports bool
}

// Item is one of several charges of a request. Two items on one counter become one charge with the sum of their costs,
// under the smaller of their limits.
type Item struct {
	// Policy, Limit, Own, Key, Counted, Cost and HasCost are as in [Request].
	Policy       string
	Limit        engine.Limit
	Own          *Own
	Key, Counted string
	Cost         int64
	HasCost      bool
}

// Own sets where and how a front end's own inline limits are charged.
type Own struct {
	// Space is the namespace of the counters.
	Space string
	// Failure is the failure mode of the limits.
	Failure policy.Failure
}

// Response is the response to a Request.
type Response struct {
	// Policy is the name of the policy whose limit is binding, or "" for inline limits.
	Policy string
	// Requested is the policy that the request names. For a route, it is the policy with the binding limit. It is nil
	// for inline limits.
	Requested *policy.Policy
	// Paid names the limit that was charged under a policy with "first", in the same form as in overrides: a policy,
	// or one limit of a policy, such as calls/1. It is "" if the request was denied, or if it charged no policy with
	// "first".
	Paid string
	// Override reports whether the binding limit comes from an override.
	Override bool
	// Unit is the binding limit's unit, if its policy names one.
	Unit string
	// Cost is the cost of the request. For a route, it is the cost of the first policy. For several items, it is the
	// highest cost.
	Cost int64
	// Decision is valid if Err is nil.
	Decision headgate.Decision
	// Limits are the limits' answers in order, if several limits decided. If only one decided, Limits is empty,
	// Decision is the answer, and Limit is that limit. Limits omits the choices of a policy with "first" that were not
	// charged.
	Limits []LimitAnswer
	Limit  engine.Limit
	// Shadows are the shadows' answers, if the request set Shadowed.
	Shadows []ShadowAnswer
	// Key is the key or hash that the binding limit counted, if the request has items. Like all strings from the batch,
	// it is valid until [Batch.End].
	Key string
	// Found and TTL are for OpReset and OpExpiry: whether there is state for the key, and how long it is kept. For
	// OpRelease, Found reports whether the holder held a permit. For OpSettle, it reports whether this request settled
	// the reservation, and Dropped is the number of used units that could not be charged.
	Found   bool
	Dropped int64
	TTL     time.Duration
	// Reservation is for OpReserve: the text for settling the reservation. SettleWithin is the time limit for settling
	// it, or 0 if there is no term.
	Reservation  string
	SettleWithin time.Duration
	// Charged is set if the request asked for it and was charged. It can correct the charges once, including those on
	// shadows.
	Charged *core.Charged
	// Held contains the permits of a request with Holds. If it is not nil, the caller must release them, even if the
	// request was denied, because shadows may hold permits.
	Held *core.Held
	// Outcome reports how the allowed request ended, for limits with adaptive rates. It is nil if there are no such
	// limits.
	Outcome func(failed bool, retryAfter time.Duration)
	// ID and Lease are for OpAcquire and OpRenew: the holder's id, and how long the permit lasts unless renewed.
	ID    string
	Lease time.Duration
	// Err is the reason why the request was not decided: a [*NoPolicyError], the error passed to [Batch.Refuse], or an
	// error of [headgate.Policy].
	Err error
}

// LimitAnswer is the answer of one limit in a decision.
type LimitAnswer struct {
	// Policy is the name of the limit's policy, or "" for inline limits.
	Policy string
	// Unit is the policy's unit, if it names one.
	Unit  string
	Limit engine.Limit
	// Cost is the cost on this limit. The policies of a route have their own costs.
	Cost     int64
	Decision engine.LimitOutcome
	// Items are the indexes of the items that were charged together, and Key is their key or hash, valid until
	// [Batch.End]. Both are empty if the request has no items.
	Items []int
	Key   string
}

// ShadowAnswer is the answer of a shadow.
type ShadowAnswer struct {
	Item     int // the index of its item, or 0 if the request has no items
	Policy   string
	Limit    engine.Limit
	Cost     int64
	Decision headgate.Decision
	Err      error
}

// NoPolicyError is the error for a request whose policy is not in the file. It matches [headgate.ErrInvalid].
type NoPolicyError struct {
	Name     string
	policies *policy.Set
}

// Error suggests the policy with the most similar name.
func (e *NoPolicyError) Error() string { return e.policies.Unknown(e.Name).Error() }

// Unwrap returns an [*engine.InputError] for the field policy.
func (e *NoPolicyError) Unwrap() error { return e.policies.Unknown(e.Name) }
