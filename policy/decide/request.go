package decide

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// Inline is the name space of limits that come with a request. All front ends share it, and so
// the counters.
const Inline = "inline"

// Request is one request.
type Request struct {
	// Kind is OpAllow, OpPeek, OpGive, OpReset, OpExpiry, OpReserve, OpSettle, OpAcquire,
	// OpRenew, OpRelease or OpCount. OpCount counts where one fixed window is charged: elsewhere it is
	// OpAllow, or OpPeek of one unit if it has none.
	Kind engine.Kind
	// Policy is the name of a policy. If it is empty, Limit or Limits applies.
	Policy string
	// Limit is an inline limit. Beside a Policy it applies if the policy is not in the file.
	Limit headgate.Limit
	// Limits are several inline limits, all or nothing; nil if there is only Limit.
	Limits []headgate.Limit
	// Own says where and how an inline limit is charged; nil stands for Inline and Rules.Failure.
	Own *Own
	// CountDenied counts hits on Limit where the policy denies everything. It is for OpCount.
	CountDenied bool
	// Items are several charges with keys and costs of their own, all or nothing: of a client, or of a
	// route. The policy, the limit, the key and the cost of the request are then not read. It is for
	// OpAllow, OpPeek and OpReserve, of which a concurrency limit gives a permit until the reservation is
	// settled.
	Items []Item
	// Shadowed asks for [Response.Shadows].
	Shadowed bool
	// Route is the route of an HTTP request: see [Routed].
	Route *route.Match
	// Settled asks for [Response.Charged]; Undoable asks for it where the route refunds errors or
	// the charge delays the request. No layer decides such a request from units of its own.
	Settled, Undoable bool
	// Key is what the request is counted under, or its hash is ([Rules.HashKeys]).
	Key string
	// Counted is the hash of Key, if it is not that of the first secret; "" otherwise.
	Counted string
	// Cost is the number of units. If HasCost is false, the request named none: the
	// policy's own cost applies, or 1 for an inline limit.
	Cost    int64
	HasCost bool
	// Ceiling is for OpReserve of a policy with a term: the most that may be charged in the end, of each
	// limit; 0 for none.
	Ceiling int64
	// Class is the class of the request, for policies with classes: see [policy.Classify].
	Class string
	// Atomic refuses items on several slots of a Cluster, which would be decided one after another.
	Atomic bool
	// ID identifies the holder of a permit: of OpRenew and OpRelease, what the acquire
	// answered; of OpAcquire, the client's choice, or "" for one that other clients cannot guess.
	ID string
	// MaxDelay is the longest delay that the caller of OpReserve accepts. A caller that names none
	// may not look at the delay, and would use units that come later at once.
	MaxDelay time.Duration
	// Reservation is for OpSettle: what the reserve answered. Cost is then the units that
	// were used of each limit, or Used those of each item; no other field is read. OpRenew with a
	// reservation renews its permits, and reads no other field either.
	Reservation string
	Used        []int64
	// Reports is for OpSettle: the units are those that were used so far, and the reservation stays open.
	Reports bool
}

// Item is one charge of a request with several. Two items of one counter are one charge of both
// costs, by the smaller of their limits.
type Item struct {
	// Policy, Limit, Own, Key, Counted, Cost, HasCost and Ceiling are as in a [Request].
	Policy       string
	Limit        headgate.Limit
	Own          *Own
	Key, Counted string
	Cost         int64
	HasCost      bool
	Ceiling      int64
}

// Own is where and how inline limits are charged that are a front end's own.
type Own struct {
	// Space is the name space of the counters.
	Space string
	// Failure is the failure mode.
	Failure policy.Failure
}

// Response is the answer to a Request.
type Response struct {
	// Policy is the name of the policy whose limit is binding, "" for inline limits.
	Policy string
	// Requested is the policy that the request named, and of a route the one whose limit is
	// binding; nil for inline limits.
	Requested *policy.Policy
	// Paid is the limit that was charged of those of a policy with first, as an override names it:
	// its policy, or one limit of a policy such as calls/1. "" without such a policy, and for a denial.
	Paid string
	// Unit is what a unit of the binding limit is, if its policy says so.
	Unit string
	// Cost is what the request was to be charged: that of the first policy of a route, where they have
	// costs of their own, and the highest of several items.
	Cost int64
	// Decision is valid if Err is nil.
	Decision headgate.Decision
	// Limits are the answers of the limits in order, if several decided. Of one the answer is the
	// decision, and it is Limit. Choices of a policy with first that were not made are left out.
	Limits []LimitAnswer
	Limit  headgate.Limit
	// Shadows are the answers of shadows, if the request asked for them.
	Shadows []ShadowAnswer
	// Key is what the binding limit of several items is counted under. It is in memory that is reused.
	Key string
	// Found and TTL are the answer to OpReset and OpExpiry: whether the key has state,
	// and for how long. Found also answers OpRelease, whether the holder had a permit,
	// and OpSettle, whether this request settled the reservation; Dropped is then how many of the units
	// that were used could not be charged.
	Found   bool
	Dropped int64
	TTL     time.Duration
	// Reservation answers OpReserve: what settles it, and within which time, 0 if there is no term.
	Reservation  string
	SettleWithin time.Duration
	// Pending is that of the binding limit: see [LimitAnswer].
	Pending int64
	// Charged answers a request that asked for it and was charged: it corrects the charges, those of
	// shadows too, once.
	Charged *headgate.Charged
	// ID and Lease answer OpAcquire and OpRenew: the holder's id, and how long the
	// permit lasts unless it is renewed.
	ID    string
	Lease time.Duration
	// Err is why the request was not decided: a [*NoPolicyError], what [Batch.Refuse] was called
	// with, or an error of [headgate.Limiter.Allow].
	Err error
}

// LimitAnswer is the answer of one limit of a decision.
type LimitAnswer struct {
	// Policy is the name of the limit's policy, "" for inline limits.
	Policy string
	// Unit is what a unit is, if the policy says so.
	Unit  string
	Limit headgate.Limit
	// Cost is what the limit was to be charged: the policies of a route have costs of their own.
	Cost     int64
	Decision engine.LimitOutcome
	// Pending is how many units open reservations with a ceiling can still charge, after a reserve with
	// one; 0 otherwise.
	Pending int64
	// Items are the places of the items that were charged together, and Key is what they are counted
	// under, in memory that is reused; a request without items has neither.
	Items []int
	Key   string
}

// ShadowAnswer is the answer of a shadow.
type ShadowAnswer struct {
	Item     int // the place of its item, 0 for a request without items
	Policy   string
	Limit    headgate.Limit
	Cost     int64
	Decision headgate.Decision
	Err      error
}

// NoPolicyError is the error of a request whose policy is not in the file. It matches
// [headgate.ErrInvalid].
type NoPolicyError struct {
	Name     string
	policies *policy.Set
}

// Error names the policy in the file whose name is nearest.
func (e *NoPolicyError) Error() string { return e.policies.Unknown(e.Name).Error() }

// Unwrap returns an [*headgate.InputError] of the field policy.
func (e *NoPolicyError) Unwrap() error { return e.policies.Unknown(e.Name) }
