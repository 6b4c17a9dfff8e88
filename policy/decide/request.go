package decide

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Inline is the name space of limits that come with a request. All front ends share it, and therefore its counters.
const Inline = "inline"

// Request is one request.
type Request struct {
	// Kind is OpAllow, OpPeek, OpGive, OpReset, OpExpiry, OpReserve, OpSettle, OpAcquire, OpRenew, OpRelease or
	// OpCount. OpCount counts if a single fixed window is charged. Otherwise it acts as OpAllow, or as OpPeek for one
	// unit if its cost is 0.
	Kind engine.Kind
	// Policy is the name of a policy. If it is empty, Limit or Limits is used.
	Policy string
	// Limit is an inline limit. If Policy is set too, it applies only if the policy is not in the file.
	Limit engine.Limit
	// Limits are several inline limits, all or nothing. It is nil if there is only Limit.
	Limits []engine.Limit
	// Own sets where and how an inline limit is charged. nil means Inline and Rules.Failure.
	Own *Own
	// CountDenied counts hits on Limit if the policy denies everything. It is for OpCount.
	CountDenied bool
	// Items are several charges with their own keys and costs, all or nothing, from a client or a route. The policy,
	// the limit, the key and the cost of the request are then ignored. It is for OpAllow, OpPeek and OpReserve. With
	// OpReserve, a concurrency limit gives a permit until the reservation is settled.
	Items []Item
	// Shadowed asks for [Response.Shadows].
	Shadowed bool
	// Route is the route of an HTTP request: see [Routed].
	Route *route.Match
	// Settled asks for [Response.Charged]. Undoable asks for it only if the route refunds errors or the charge delays
	// the request. Layers never decide such a request from their own units.
	Settled, Undoable bool
	// Key is the key of the request. The request is counted under it or its hash ([Rules.HashKeys]).
	Key string
	// Counted is the hash of Key under the second secret, or "" if the first applies.
	Counted string
	// Cost is the number of units. If HasCost is false, the request has none: the policy's own cost applies, or 1 for
	// an inline limit.
	Cost    int64
	HasCost bool
	// Ceiling is for OpReserve under a policy with a term: the most units that may finally be charged on each limit, or
	// 0 for no ceiling.
	Ceiling int64
	// Class is the class of the request, for policies with classes: see [policy.Classify].
	Class string
	// Outcomes report how earlier requests of the key have ended, for limits whose rate adapts; other limits ignore them. They are for
	// OpAllow and OpReserve.
	Outcomes *algo.Report
	// Atomic rejects items on several slots of a Cluster, which would be decided one after another.
	Atomic bool
	// ID identifies the holder of a permit. For OpRenew and OpRelease it is the id from the acquire. For OpAcquire it
	// is the client's choice, or "" for a generated id that other clients cannot guess.
	ID string
	// MaxDelay is the longest delay that the caller of OpReserve accepts. 0 reserves no future units, because a caller
	// that does not set it may check only Allowed and use the units too early.
	MaxDelay time.Duration
	// Reservation is for OpSettle: the text from the reserve. Cost is then the number of units used on each limit, or
	// Used has the units of each item; other fields are ignored. OpRenew with a reservation renews its permits, and
	// also ignores other fields.
	Reservation string
	Used        []int64
	// Reports is for OpSettle: the units are the units used so far, and the reservation stays open.
	Reports bool
}

// Item is one of several charges of a request. Two items on one counter become one charge with the sum of their costs,
// under the smaller of their limits.
type Item struct {
	// Policy, Limit, Own, Key, Counted, Cost, HasCost and Ceiling are as in a [Request].
	Policy       string
	Limit        engine.Limit
	Own          *Own
	Key, Counted string
	Cost         int64
	HasCost      bool
	Ceiling      int64
}

// Own sets where and how a front end's own inline limits are charged.
type Own struct {
	// Space is the name space of the counters.
	Space string
	// Failure is the failure mode.
	Failure policy.Failure
}

// Response is the answer to a Request.
type Response struct {
	// Policy is the name of the policy whose limit is binding, or "" for inline limits.
	Policy string
	// Requested is the policy that the request named or, for a route, the policy with the binding limit. It is nil for
	// inline limits.
	Requested *policy.Policy
	// Paid names the limit that was charged under a policy that has the field "first". It has the form used in
	// overrides: a policy, or one limit of a policy, such as calls/1. It is "" for a denial, and if no such policy was
	// charged.
	Paid string
	// Unit is the unit of the binding limit, if its policy names one.
	Unit string
	// Cost is the cost of the request: for a route, the cost of its first policy; for several items, the highest
	// cost.
	Cost int64
	// Decision is valid if Err is nil.
	Decision headgate.Decision
	// Limits are the answers of the limits in order, if several decided. If only one decided, Decision is its answer,
	// and Limit is that limit. Other choices of a policy with "first" are omitted.
	Limits []LimitAnswer
	Limit  engine.Limit
	// Shadows are the answers of shadows, if the request asked for them.
	Shadows []ShadowAnswer
	// Key is the key or hash of the binding limit, for several items. Its memory is reused.
	Key string
	// Found and TTL answer OpReset and OpExpiry: whether the key has state, and for how long. Found also answers
	// OpRelease (whether the holder had a permit) and OpSettle (whether this request settled the reservation).
	// Dropped is then the number of used units that could not be charged.
	Found   bool
	Dropped int64
	TTL     time.Duration
	// Reservation answers OpReserve: the text for settling it, and the time within which to settle it, 0 if there is no
	// term.
	Reservation  string
	SettleWithin time.Duration
	// Pending is for the binding limit: see [LimitAnswer].
	Pending int64
	// Charged is set if the request asked for it and was charged. It corrects the charges, shadows included, once.
	Charged *operate.Charged
	// Outcome reports how the allowed request has ended, for limits whose rate adapts. It is nil without such limits.
	Outcome func(failed bool, retryAfter time.Duration)
	// ID and Lease answer OpAcquire and OpRenew: the holder's id, and how long the permit lasts unless renewed.
	ID    string
	Lease time.Duration
	// Err is the reason why the request was not decided: a [*NoPolicyError], the error passed to [Batch.Refuse], or
	// an error of [headgate.Policy].
	Err error
}

// LimitAnswer is the answer of one limit in a decision.
type LimitAnswer struct {
	// Policy is the name of the limit's policy, or "" for inline limits.
	Policy string
	// Unit is the unit, if the policy names one.
	Unit  string
	Limit engine.Limit
	// Cost is the cost for this limit: the policies of a route have their own costs.
	Cost     int64
	Decision engine.LimitOutcome
	// Pending is, after a reserve with a ceiling, the number of units that open reservations with ceilings can still
	// charge; 0 otherwise.
	Pending int64
	// Items are the indexes of the items that were charged together, and Key is their key or hash, in memory that is
	// reused. Both are unset for a request without items.
	Items []int
	Key   string
}

// ShadowAnswer is the answer of a shadow.
type ShadowAnswer struct {
	Item     int // the index of its item, 0 for a request without items
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

// Error suggests the policy with the nearest name.
func (e *NoPolicyError) Error() string { return e.policies.Unknown(e.Name).Error() }

// Unwrap returns an [*engine.InputError] for the field policy.
func (e *NoPolicyError) Unwrap() error { return e.policies.Unknown(e.Name) }
