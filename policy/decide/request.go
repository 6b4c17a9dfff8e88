package decide

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
)

// InlineSpace is the namespace of limits that come with a request. All front ends share it and its counters.
const InlineSpace = "inline"

// Request is one request to decide: one item, or a list of items of which either all are charged or none.
type Request struct {
	// Kind is OpAllow, OpPeek, OpGive, OpReset, OpExpiry, OpReserve, OpSettle, OpAcquire, OpRenew, OpRelease or
	// OpCount. OpCount counts hits if a single fixed window is charged. Otherwise it acts like OpAllow, or like OpPeek
	// for one unit if its cost is 0.
	Kind engine.Kind
	// Item is the only item of a request that has no list.
	Item
	// Items is a list of items, from a client or a route; the request's own item is then ignored. A list is valid for
	// OpAllow, OpPeek and OpReserve. For OpReserve, a concurrency limit grants a permit until the reservation is
	// settled.
	Items []Item
	// Target restricts an OpReset to one limit of the policy: its name in overrides, such as api/offenders. If it is
	// empty, all limits are reset.
	Target string
	// CountDenied makes an OpCount count hits on Limit if the policy denies everything.
	CountDenied bool
	// Shadowed requests [Response.Shadows].
	Shadowed bool
	// Route is the route of an HTTP request: see [Routed]. The policies of its charges are those of the items.
	Route *route.Match
	// If Settled is set, the response contains [Response.Charged]. If Undoable is set, the response contains it only
	// if the route refunds errors or the charge delays the request. If either field is set, layers never decide the
	// request from units that they hold.
	Settled, Undoable bool
	// If Holds is set on an OpAllow, its concurrency limits grant permits, together with the charges on the other limits,
	// and the response contains [Response.Permits]. Otherwise an OpAllow of a concurrency limit is an error.
	Holds bool
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

// Item is one key that a request charges, under a policy or under inline limits. Two items of a list on one counter
// become one charge with the sum of their costs, under the smaller of their limits.
type Item struct {
	// Policy is the name of a policy. If it is empty, Limit or Limits is used.
	Policy string
	// Limit is an inline limit. If Policy is set too, it applies only if the policy is not in the file.
	Limit engine.Limit
	// Limits are several inline limits, charged all or nothing. It is nil if there is only Limit.
	Limits []engine.Limit
	// Inline sets where and how an inline limit is charged. If it is nil, the namespace is InlineSpace and the failure mode is
	// Rules.Failure.
	Inline *InlineRules
	// Key is the key of the item. It is counted under this key or its hash ([Rules.HashKeys]).
	Key string
	// Counted is the hash of Key under the second secret. It is "" if the first secret applies.
	Counted string
	// Cost is the number of units. If HasCost is false, the item costs the policy's own cost, or 1 for an inline
	// limit.
	Cost    int64
	HasCost bool
}

// InlineRules set where and how a front end's own inline limits are charged.
type InlineRules struct {
	// Space is the namespace of the counters.
	Space string
	// Failure is the failure mode of the limits.
	Failure policy.Failure
}

// Routed returns the request that charges an HTTP request to all policies of its route, or to none.
func Routed(m *route.Match) Request {
	r := Request{Kind: engine.OpAllow, Route: m, Class: m.Class}
	of := func(i int) Item { return Item{Key: m.Items[i].Key, Cost: m.Items[i].Cost, HasCost: m.Items[i].HasCost} }
	if len(m.Items) == 1 {
		r.Item = of(0)
		return r
	}
	for i := range m.Items {
		r.Items = append(r.Items, of(i))
	}
	return r
}

// listed reports whether the request has a list of items, even of one.
func (r *Request) listed() bool { return r.Items != nil }

// count returns the number of items.
func (r *Request) count() int {
	if r.listed() {
		return len(r.Items)
	}
	return 1
}

func (r *Request) item(i int) *Item {
	if r.listed() {
		return &r.Items[i]
	}
	return &r.Item
}

// cost returns the item's own cost, or the given one if it has none.
func (i *Item) cost(otherwise int64) int64 {
	if i.HasCost {
		return i.Cost
	}
	return otherwise
}
